"""Choice of the mechanism that delays packets in the local cluster."""

from enum import StrEnum


class DelayBackend(StrEnum):
    """The mechanism that delays packets."""

    AUTO = "auto"
    NETEM = "netem"
    RELAY_C = "relay-c"
