"""Files of physical constants: plain YAML, each figure with where it comes from."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from gesscale.errors import InputError
from gesscale.words import place_of
from latency_map import LatencyMapError
from latency_map.formats.yaml_text import read_yaml


class Constant(BaseModel):
    """A constant.

    Attributes
    ----------
    value
        In the unit that the constant's name says.
    origin
        Measured where and how, or assumed and why.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    value: int | FiniteFloat
    origin: Annotated[str, Field(min_length=1)]


class Figures(BaseModel):
    """The constants of one kind of query.

    Attributes
    ----------
    about
        What they describe, in a sentence.
    figures
        By the name of the constant.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    about: str
    figures: Mapping[str, Constant]

    def values(self, known: Iterable[str], source: str) -> dict[str, int | float]:
        """Return the values alone.

        Parameters
        ----------
        known
            The names there may be.
        source
            Names the file in messages.

        Raises
        ------
        InputError
            At another name.
        """
        allowed = sorted(known)
        unknown = sorted(set(self.figures) - set(allowed))
        if unknown:
            message = f"{source}: expected figures among {', '.join(allowed)}; got {', '.join(unknown)}"
            raise InputError(message)
        return {name: figure.value for name, figure in self.figures.items()}


def read_figures(name_or_path: str | Path, folder: Path) -> Figures:
    """Read a file of constants.

    Parameters
    ----------
    name_or_path
        A file in the folder, without its ending; or, with an ending or a slash, any file.
    folder
        Holds the files that are bundled.

    Raises
    ------
    InputError
        Where there is no such file, or it is no such document.
    """
    path = Path(name_or_path)
    if len(path.parts) == 1 and not path.suffix:
        path = folder / f"{path}.yaml"
    try:
        document = read_yaml(path)
    except OSError as error:
        bundled = ", ".join(sorted(file.stem for file in folder.glob("*.yaml")))
        message = f"{name_or_path}: expected one of {bundled}, or a file with figures; {error.strerror}"
        raise InputError(message) from None
    except LatencyMapError as error:
        raise InputError(str(error)) from None
    try:
        return Figures.model_validate(document)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_context=False)[0]
        place = place_of(fault["loc"]) or "document"
        message = f"{path}: {place}: {fault['msg']}; each figure has a value and an origin"
        raise InputError(message) from None
