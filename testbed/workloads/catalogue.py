"""Catalogue of the named loads in ``catalogue.yaml``; completion reads it without importing their builders."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from gesscale.common.yaml_text import read_yaml


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueLoad:
    """Description of a named load."""

    #: Name, before the colon.
    name: str
    #: Shape in a phrase.
    what: str
    #: Duration and steps.
    length: str
    #: Origin: data set and licence, or paper and section.
    source: str
    #: Whether it depends on the seed.
    is_random: bool = False
    #: Parameter after the colon; empty if it takes none.
    parameter: str = ""


@cache
def entries() -> tuple[CatalogueLoad, ...]:
    """Return all named loads, grouped by source."""
    document = read_yaml(Path(__file__).with_name("catalogue.yaml"))
    return TypeAdapter(tuple[CatalogueLoad, ...]).validate_python(document)
