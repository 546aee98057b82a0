"""Rules in Python: what may be said when, and that nothing is lost."""

import pytest

from testbed.baselines.rules import (
    Metric,
    PolicyError,
    PolicyRules,
    above,
    absolute,
    all_operators,
    below,
    exactly,
    factor,
    metric,
    millis,
    minutes,
    nodes,
    operator,
    percent,
    percentage,
    relative,
    rows,
    rows_per_second,
    seconds,
    tuples,
)
from testbed.baselines.rules.builder import RuleBuilder


def begun() -> RuleBuilder:
    return PolicyRules().rule("backlog")


def sound() -> RuleBuilder:
    return (
        begun().scale_out(operator("agg")).by(absolute(2)).when("cpu").is_(above(80)).for_at_least(minutes(1))
    )


def test_a_block_builds_what_was_begun_in_it():
    with PolicyRules("demo") as demo:
        first = demo.rule("backlog").scale_out(operator("agg")).by(absolute(2)).never_above(nodes(3))
        first.when(metric("queue-length")).is_(above(tuples(300))).for_at_least(seconds(30))
        first.no_scale_out_since(minutes(5))
        second = demo.rule().scale_in(all_operators(together=True)).by(relative(2)).never_below(factor(0.5))
        second.when(Metric.LATENCY).is_(below(millis(500))).for_at_least(seconds(30))
        second.and_(metric("throughput")).is_(below(rows_per_second(10))).for_at_least(minutes(2))
        second.no_scale_in_since(seconds(60))
    assert demo.rule_set.name == "demo"
    assert [rule.name for rule in demo.rules] == ["backlog", "default-rule-2"]
    assert [rule.sentence for rule in demo.rules] == [
        "scale-out agg +2, max 3 when queue-length > 300 tuples for 30s, unless scale-out within 5m",
        "scale-in * together ÷2, min 0.5 × the first when latency < 500 ms for 30s and throughput < 10 rows/s for 2m, "
        "unless scale-in within 1m",
    ]


def test_every_kind_of_factor():
    kinds = [absolute(2), relative(1.5), percentage(25), exactly(4)]
    assert [next(iter(kind.model_dump(exclude_none=True).items())) for kind in kinds] == [
        ("absolute", 2),
        ("relative", 1.5),
        ("percent", 25),
        ("exact", 4),
    ]


def test_outside_of_a_block_a_rule_is_registered_as_it_is_built_and_only_once():
    rules = PolicyRules()
    builder = rules.rule("a").scale_out(operator("op")).by(absolute(1))
    builder.when("cpu").is_(above(percent(80))).for_at_least(minutes(1))
    assert rules.rules == ()
    assert builder.build() is builder.build()
    assert [rule.name for rule in rules.rules] == ["a"]


def test_a_name_used_twice_gets_a_number():
    with PolicyRules() as rules:
        for _ in range(2):
            rule = rules.rule("a").scale_out(operator("op")).by(absolute(1))
            rule.when("cpu").is_(above(80)).for_at_least(minutes(1))
    assert [rule.name for rule in rules.rules] == ["a", "a (2)"]


@pytest.mark.parametrize(
    ("say", "words"),
    [
        (lambda: begun().is_(above(1)), "`is_` follows `when` or `and_`"),
        (lambda: begun().when("cpu").is_(above(1)).is_(above(2)), "`is_` follows"),
        (lambda: begun().when("cpu").for_at_least(seconds(1)), "`for_at_least` follows `is_`"),
        (lambda: begun().for_at_least(seconds(1)), "`for_at_least` follows `is_`"),
        (lambda: begun().when("cpu").when("lag"), "say `and_`"),
        (lambda: sound().when("lag"), "say `and_`"),
        (lambda: begun().and_("cpu"), "`and_` follows a whole condition"),
        (lambda: sound().and_("lag").and_("cpu"), "`and_` follows a whole condition"),
        (lambda: sound().scale_in(operator("agg")), "action is said already: scale-out"),
        (lambda: sound().by(relative(2)), "by is said already"),
        (lambda: sound().never_above(nodes(3)).never_above(nodes(4)), "max is said already: 3"),
        (lambda: begun().when("cpu").is_(above(1)).for_at_least(rows(5)), "expected a time such as seconds"),
        (lambda: begun().no_scale_in_since(percent(5)), "expected a time such as seconds"),
        (lambda: absolute(0), "absolute: expected greater than or equal to 1, got 0"),
        (lambda: relative(0.5), "relative: expected greater than 1, got 0.5"),
    ],
)
def test_what_does_not_fit_is_refused_as_it_is_said(say, words):
    with pytest.raises(PolicyError, match=words):
        say()


@pytest.mark.parametrize(
    ("builder", "words"),
    [
        (begun, "rule 'backlog': it lacks scale_out or scale_in, by, when"),
        (lambda: begun().scale_out(operator("op")).by(absolute(1)), "it lacks when"),
        (lambda: begun().scale_out(operator("op")).when("cpu"), "the condition on cpu lacks"),
        (lambda: sound().and_("lag").is_(above(3)), "the condition on lag lacks"),
        (lambda: sound().and_("heap").is_(above(3)).for_at_least(seconds(30)), "got 'heap'"),
        (
            lambda: sound().and_("lag").is_(above(rows(3))).for_at_least(seconds(30)),
            r"when\[1\]: lag: expected a threshold in s or ms or min, got one in rows",
        ),
        (lambda: sound().and_("lag").is_(above(3)).for_at_least(seconds(0)), "positive duration"),
        (lambda: sound().never_above(nodes(2)).never_below(nodes(3)), "expected min <= max, got 3 and 2"),
        (lambda: sound().never_above(factor(0.5)), "max_factor: expected greater than or equal to 1"),
    ],
)
def test_a_rule_that_is_not_whole_is_refused_as_it_is_built(builder, words):
    with pytest.raises(PolicyError, match=words):
        builder().build()


def test_a_rule_that_was_begun_and_not_finished_ends_its_block_with_an_error():
    with pytest.raises(PolicyError, match="rule 'forgotten': it lacks by, when"), PolicyRules() as rules:
        rules.rule("forgotten").scale_out(operator("op"))


def test_an_error_within_the_block_is_not_covered_up():
    with pytest.raises(PolicyError, match="`is_` follows"), PolicyRules() as rules:
        rules.rule("forgotten").is_(above(1))


def test_a_rule_that_is_built_does_not_change_any_more():
    built = sound()
    built.build()
    for say in (
        lambda: built.never_above(nodes(3)),
        lambda: built.no_scale_out_since(minutes(1)),
        lambda: built.and_("lag").is_(above(3)).for_at_least(seconds(30)),
    ):
        with pytest.raises(PolicyError, match="it is built"):
            say()
