"""What an experiment varies: choices, one at a time or in every combination."""

from collections.abc import Iterable, Mapping
from itertools import product
from math import prod
from typing import Literal, Self

from pydantic import Field, JsonValue, field_validator, model_validator

from testbed.arena.experiments.sections import Section

MAX_VARIANTS = 1000


class Option(Section):
    """One reading of a choice."""

    name: str = Field(pattern=r"^[^=,\s]+$", description="How results call it.")
    set: Mapping[str, JsonValue] = Field({}, description="What it changes, such as `metrics.cpu: work`.")


class VariantChoice(Section):
    """A question with several answers; the first is the one that holds elsewhere."""

    name: str = Field(pattern=r"^[^=,\s]+$", description="How results call it.")
    question: str = Field("", description="What is chosen, for people.")
    options: tuple[Option, ...] = Field(min_length=1, description="The answers; the first is the default.")

    @field_validator("options")
    @classmethod
    def _check_names(cls, options: tuple[Option, ...]) -> tuple[Option, ...]:
        distinct([option.name for option in options], "options")
        return options


class VariantsSection(Section):
    """What is varied, and how choices are combined."""

    combine: Literal["one-at-a-time", "full-factorial"] = Field(
        "one-at-a-time", description="Change one choice at a time, or take every combination."
    )
    choices: tuple[VariantChoice, ...] = Field((), description="The choices.")

    @field_validator("choices")
    @classmethod
    def _check_names(cls, choices: tuple[VariantChoice, ...]) -> tuple[VariantChoice, ...]:
        distinct([choice.name for choice in choices], "choices")
        return choices

    @model_validator(mode="after")
    def _check_number(self) -> Self:
        sizes = [len(choice.options) for choice in self.choices]
        number = prod(sizes) if self.combine == "full-factorial" else 1 + sum(sizes) - len(sizes)
        if number > MAX_VARIANTS:
            message = f"expected at most {MAX_VARIANTS} variants, got {number}"
            raise ValueError(message)
        return self

    def changes(self) -> Mapping[str, Mapping[str, JsonValue]]:
        """Return the changes of each variant by its name; the first variant takes every default.

        Returns
        -------
        mapping
            Only the variant ``""``, which changes nothing, where there are no choices.
        """
        found: dict[str, Mapping[str, JsonValue]] = {}
        for picked in self._combinations():
            changed = [
                f"{c.name}={o.name}" for c, o in zip(self.choices, picked, strict=True) if o != c.options[0]
            ]
            name = ",".join(changed) or ("default" if self.choices else "")
            found[name] = {path: value for option in picked for path, value in option.set.items()}
        return found

    def _combinations(self) -> Iterable[tuple[Option, ...]]:
        if self.combine == "full-factorial":
            return product(*(choice.options for choice in self.choices))
        defaults = tuple(choice.options[0] for choice in self.choices)
        return (
            defaults,
            *(
                (*defaults[:index], option, *defaults[index + 1 :])
                for index, choice in enumerate(self.choices)
                for option in choice.options[1:]
            ),
        )


def distinct(names: list[str], what: str) -> None:
    """Refuse names that occur twice.

    Raises
    ------
    ValueError
        Naming the first of them.
    """
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        message = f"expected distinct {what}, got {twice!r} twice"
        raise ValueError(message)
