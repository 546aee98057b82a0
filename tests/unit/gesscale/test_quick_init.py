"""A frozen dataclass that is made by its slots is what it was."""

import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from gesscale.quick_init import quick_init


@quick_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    number: int
    name: str = "one"
    listed: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.number < 0:
            message = "expected a number >= 0"
            raise ValueError(message)


def test_defaults_are_those_of_the_class_and_factories_are_asked_each_time():
    one, other = Value(number=1), Value(number=1)
    assert (one.number, one.name, one.listed) == (1, "one", [])
    assert one == other
    assert one.listed is not other.listed


def test_it_is_checked_as_before():
    with pytest.raises(ValueError, match="number >= 0"):
        Value(number=-1)
    with pytest.raises(TypeError, match="number"):
        Value()  # type: ignore[call-arg] # that is the mistake
    with pytest.raises(TypeError, match="other"):
        Value(number=1, other=2)  # type: ignore[call-arg] # that is the mistake


def test_it_stays_frozen_and_can_be_replaced_and_sent():
    value = Value(number=1, name="two")
    with pytest.raises(FrozenInstanceError):
        value.number = 2  # type: ignore[misc] # that is the mistake
    assert replace(value, number=3) == Value(number=3, name="two")
    assert pickle.loads(pickle.dumps(value)) == value  # noqa: S301 - of our own
