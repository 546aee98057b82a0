"""The loads that have a name, as data: ``catalogue.yaml``; completion reads it without what builds them."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from gesscale.common.yaml_text import read_yaml


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A load of the catalogue.

    Attributes
    ----------
    name
        What stands before the colon.
    what
        Its shape, in a phrase.
    length
        How long it is and in what steps.
    source
        Where it is from: data set and licence, or paper and section.
    is_random
        Whether the seed decides something of it.
    parameter
        What may stand after the colon; empty where nothing may.
    """

    name: str
    what: str
    length: str
    source: str
    is_random: bool = False
    parameter: str = ""


@cache
def entries() -> tuple[Entry, ...]:
    """Return all named loads, those of a source side by side."""
    document = read_yaml(Path(__file__).with_name("catalogue.yaml"))
    return TypeAdapter(tuple[Entry, ...]).validate_python(document)
