"""Settings of `rules`."""

from typing import Self

from pydantic import Field, model_validator

from gesscale.fields import OptionalFilePath
from testbed.baselines.rules.model import Rule
from testbed.baselines.rules.semantics import Semantics


class RulesSettings(Semantics):
    """The rules of SEEP, and how they are read."""

    rules: tuple[Rule, ...] = Field(
        (), description="The rules. Default: those of docs/reference/policies/rules.md, on lag and CPU."
    )
    file: OptionalFilePath = Field(
        None,
        description="A YAML file with the rules; the loop reads it at its start. Default: none, they stand here. "
        "A file without any rule changes nothing.",
    )

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        if self.rules and self.file is not None:
            message = f"expected rules or a file of rules, got both: {len(self.rules)} rules and {self.file}"
            raise ValueError(message)
        return self
