"""How rules are read where the thesis on SEEP leaves it open; the defaults are the readings that work."""

from typing import Literal

from pydantic import Field

from gesscale.fields import Duration, SettingsGroup


class Semantics(SettingsGroup):
    """How rules are evaluated (Rouaux 2014, sections 4.2 and 4.3.5)."""

    mode: Literal["rearm", "edge"] = Field(
        "rearm",
        description="rearm: after each change of an operator, its conditions must hold again for their whole "
        "time, and a guard delays. edge: a rule acts only when its conditions begin to hold, and "
        "never if a guard is closed then. Default: rearm; edge is the thesis word for word, and "
        "forgets the scale-in of its section 5.2.7.",
    )
    bounds: Literal["block", "clamp"] = Field(
        "block",
        description="Whether a change beyond a bound is left out or cut short, such as +2 at 7 of 8. Default: "
        "block, as in the thesis; clamp uses all there is.",
    )
    arbitration: Literal["largest", "first", "sum"] = Field(
        "largest",
        description="Which rule counts where several would add, or remove, at once: the largest change, the first "
        "by rank, or all in turn. Adding comes before removing. Default: the largest; in the thesis "
        "each acted.",
    )
    strict: bool = Field(
        False,
        description="Whether the readings must show that a condition held before its time began. Default: no, one "
        "reading less is enough, as in the thesis's figures.",
    )
    allow_single_sample: bool = Field(
        False,
        description="Whether a single reading is enough where a time holds no more. Default: no, two must agree, "
        "so that an outlier changes nothing. The thesis's sections 5.2.6 and 5.2.7 used one.",
    )
    max_gap_s: Duration = Field(
        180.0,
        description="After this long without a reading, nothing is known, and all times begin again. Default: "
        "three periods of 60 s.",
    )
