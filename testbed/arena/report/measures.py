"""What a run is judged by, as the page calls and explains it; ``measures.yaml`` holds the texts."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from gesscale.common.yaml_text import read_yaml


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A metric of the page.

    Attributes
    ----------
    name
        As in the results: a field of `testbed.scoring.sample.Scores`, or one of the frontier's.
    label, unit
        Of its column.
    definition
        In a sentence or two. Less is better for every one of them.
    ratio
        Whether its ratio to the baseline means something; it does not for what is relative already.
    """

    name: str
    label: str
    unit: str = ""
    definition: str
    ratio: bool = True


_GROUPS = TypeAdapter(dict[str, tuple[Measure, ...]]).validate_python(
    read_yaml(Path(__file__).with_name("measures.yaml"))
)
PROVISIONING, DELAY, HEADCOUNT, DISTANCE = (
    _GROUPS[name] for name in ("provisioning", "delay", "headcount", "distance")
)
MEASURES = (*PROVISIONING, *DELAY, *HEADCOUNT, *DISTANCE)
