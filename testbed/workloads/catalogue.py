"""The loads that have a name, as data: ``catalogue.yaml``; completion reads it without what builds them."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from gesscale.common.yaml_text import read_yaml


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A load of the catalogue."""

    #: What stands before the colon.
    name: str
    #: Its shape, in a phrase.
    what: str
    #: How long it is and in what steps.
    length: str
    #: Where it is from: data set and licence, or paper and section.
    source: str
    #: Whether the seed decides something of it.
    is_random: bool = False
    #: What may stand after the colon; empty where nothing may.
    parameter: str = ""


@cache
def entries() -> tuple[Entry, ...]:
    """Return all named loads, those of a source side by side."""
    document = read_yaml(Path(__file__).with_name("catalogue.yaml"))
    return TypeAdapter(tuple[Entry, ...]).validate_python(document)
