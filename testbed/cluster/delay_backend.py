"""What may make the delays of the local cluster."""

from enum import StrEnum


class DelayBackend(StrEnum):
    """What makes the delays."""

    AUTO = "auto"
    NETEM = "netem"
    RELAY_C = "relay-c"
