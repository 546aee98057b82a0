"""Reads files of physical constants: YAML with the origin of each figure."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, TypeAdapter, ValidationError

from gesscale.common.errors import cause_of
from gesscale.common.yaml_text import read_yaml
from gesscale.errors import InputError
from gesscale.validation import first_problem

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]
PositiveCount = Annotated[int, Field(gt=0)]

_P = TypeVar("_P", bound="DataclassInstance")


class Constant(BaseModel):
    """Value and origin of a constant."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    #: In the unit that ends the constant's name.
    value: int | FiniteFloat
    #: Where and how it was measured, or why it was assumed.
    origin: Annotated[str, Field(min_length=1)]


class Figures(BaseModel):
    """The constants of one kind of query."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    #: Description in a sentence.
    about: str
    #: By the name of the constant.
    figures: Mapping[str, Constant]


def read_figures(name_or_path: str | Path, folder: Path) -> Figures:
    """Read a file of constants.

    Raises
    ------
    InputError
        If the file cannot be read, or is not a file of constants.
    """
    path = Path(name_or_path)
    if len(path.parts) == 1 and not path.suffix:
        path = folder / f"{path}.yaml"
    try:
        document = read_yaml(path)
    except OSError as error:
        bundled = sorted(file.stem for file in folder.glob("*.yaml"))
        raise InputError(
            "constants-unreadable", source=str(name_or_path), bundled=bundled, cause=cause_of(error)
        ) from None
    try:
        return Figures.model_validate(document)
    except ValidationError as error:
        raise InputError([first_problem(error, source=str(path))]) from None


def read_physics(kind: type[_P], name_or_path: str | Path, folder: Path, *, needs_all: bool = False) -> _P:
    """Read a file of constants as the physics of an engine.

    Raises
    ------
    InputError
        If the file cannot be read, or a constant is unknown, missing or out of range.
    """
    figures = read_figures(name_or_path, folder).figures
    missing = sorted({field.name for field in fields(kind)} - figures.keys())
    if needs_all and missing:
        raise InputError("constants-missing", source=str(name_or_path), missing=missing)
    return checked_physics(kind, {name: each.value for name, each in figures.items()}, str(name_or_path))


def checked_physics(kind: type[_P], values: Mapping[str, object], source: str) -> _P:
    """Return the physics with these values.

    Raises
    ------
    InputError
        If a constant is unknown, missing or out of range.
    """
    known = {field.name for field in fields(kind)}
    if unknown := sorted(values.keys() - known):
        raise InputError("constant-unknown", source=source, constant=unknown[0], known=sorted(known))
    try:
        return TypeAdapter(kind).validate_python(dict(values))
    except ValidationError as error:
        raise InputError([first_problem(error, source=source)]) from None
