"""Label selectors, as Kubernetes writes them."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from gesscale.kubernetes.resource.parts import ResourcePart, ValidationRule

LabelKey = Annotated[
    str,
    StringConstraints(
        pattern=r"^([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$", max_length=317
    ),
]
LabelValue = Annotated[
    str, StringConstraints(pattern=r"^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$", max_length=63)
]


class Requirement(ResourcePart):
    """What one label must be."""

    key: LabelKey = Field(description="The label.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = Field(
        description="How the label compares with the values; a node without the label fulfils NotIn."
    )
    values: tuple[LabelValue, ...] = Field(
        (), max_length=64, description="For In and NotIn, at least one; for the others none."
    )
    RULES = (
        ValidationRule(
            cel="(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
            message="operator In or NotIn needs values, Exists or DoesNotExist takes none",
            holds=lambda it: (it.operator in {"In", "NotIn"}) == bool(it.values),
        ),
    )


class LabelSelector(ResourcePart):
    """What all labels must be; an empty selector fits everything."""

    match_labels: dict[str, LabelValue] = Field(
        default_factory=dict, max_length=32, description="Labels that must have exactly these values."
    )
    match_expressions: tuple[Requirement, ...] = Field(
        (), max_length=32, description="Further requirements; all must hold."
    )
