"""A policy that fails changes nothing, and the reason is reported."""

from edge import FakeCluster, control_loop, known, observe, reading, workflow

from gesscale.common.errors import Problem
from gesscale.model.decision import OutcomeStatus, Reason
from gesscale.options import PolicyOptions
from gesscale.policies import GuardedPolicy, policy_named
from gesscale.ports import ClusterState

OVERLOADED = observe(reading(("hub", "near"), throughput=50.0, offered=90.0, saturated=1.0, backlog=9000.0))


class Broken:
    """A policy that does in each phase what a test sets."""

    name = "mine"

    def __init__(self, analyze=None, plan=None):
        self.good = policy_named("gesscale-2021", workflow(), PolicyOptions())
        self._analyze, self._plan = analyze, plan

    def analyze(self, observation, knowledge):
        return self._analyze() if self._analyze else self.good.analyze(observation, knowledge)

    def plan(self, analyses, cluster, knowledge):
        return self._plan() if self._plan else self.good.plan(analyses, cluster, knowledge)


def divide():
    return 1 / 0


DIVIDES_AT = divide.__code__.co_firstlineno + 1


def step(policy, cluster=None, directives=None):
    loop = control_loop(
        cluster or FakeCluster({"op": ("hub", "near")}),
        OVERLOADED,
        policy=GuardedPolicy(policy),
        directives=directives or {},
    )
    (decision,) = loop.step(1000.0)
    return decision


def test_exception_of_a_policy_has_its_place():
    for phase in ("analyze", "plan"):
        decision = step(Broken(**{phase: divide}))
        assert (decision.plan.reason, decision.plan.change) == (Reason.POLICY_FAILED, None)
        assert decision.plan.placement == ("hub", "near")
        assert decision.outcome.status is OutcomeStatus.NOTHING_TO_DO
        fields = {"source": f"policy mine, {phase}", "place": f"test_guarded.py, line {DIVIDES_AT}"}
        problem = Problem("policy-failed", {**fields, "kind": "ZeroDivisionError", "cause": "division by zero"})
        assert decision.plan.detail == str(problem)


def test_missing_result_of_a_policy_is_reported():
    decision = step(Broken(analyze=dict))
    problem = Problem("policy-result-missing", {"source": "policy mine, analyze", "operators": ["op"]})
    assert decision.plan.detail == str(problem)
    assert step(Broken(plan=lambda: 5)).plan.reason is Reason.POLICY_FAILED


def test_a_sound_policy_is_let_through_unchanged():
    policy = Broken()
    guarded = GuardedPolicy(policy)
    cluster = ClusterState(placements={"op": ("hub", "near")})
    assert guarded.name == "mine"
    analyses = guarded.analyze(OVERLOADED, known())
    assert analyses == policy.good.analyze(OVERLOADED, known())
    assert guarded.plan(analyses, cluster, known()) == policy.good.plan(analyses, cluster, known())
