"""The policies by name: what each is, where it is from, what it can be told, and how it is built."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Protocol

from gesscale.errors import SettingsError
from gesscale.options import PolicyOptions
from gesscale.policies.autrascale import AutrascalePolicy
from gesscale.policies.daedalus import DaedalusPolicy
from gesscale.policies.dhalion import DhalionPolicy
from gesscale.policies.drs import DrsPolicy
from gesscale.policies.ds2 import Ds2Policy
from gesscale.policies.gesscale import GesscalePolicy
from gesscale.policies.hpa import HpaCpuPolicy, HpaVargaPolicy
from gesscale.policies.rules import rules_policy
from gesscale.policies.static import StaticPolicy
from gesscale.policies.threshold import ThresholdPolicy
from gesscale.ports import Policy
from gesscale.words import suggestion
from gesscale.workflow import Workflow

_PAPER = "Arkian, Pierre, Tordsson, Elmroth, Gesscale, ICCCN 2021"


class _LatencyAwareOrNot(Protocol):
    def __call__(self, workflow: Workflow, options: PolicyOptions, *, latency_aware: bool) -> Policy: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCard:
    """A policy as people choose it.

    Attributes
    ----------
    summary
        What it does, in a line.
    source
        Where it is from.
    build
        Makes it of a workflow and what it is told.
    guide
        Its page in the folder docs.
    told
        The settings of group ``analyze`` that it heeds, by their names in code.
    needs
        A package that it imports, by the name of the extra that installs it; none for most.
    """

    summary: str
    source: str
    build: Callable[[Workflow, PolicyOptions], Policy]
    guide: str
    told: tuple[str, ...] = ()
    needs: tuple[str, str] | None = None

    @property
    def is_installed(self) -> bool:
        """Whether all that it imports is there."""
        return self.needs is None or find_spec(self.needs[1]) is not None


def _on_nodes_as_told(policy: _LatencyAwareOrNot) -> Callable[[Workflow, PolicyOptions], Policy]:
    """Build a policy that knows no delays on the nearest nodes, or on drawn ones, as `node_choice` tells."""
    return lambda workflow, options: policy(workflow, options, latency_aware=options.node_choice == "nearest")


_MODEL = ("back_pressure_threshold", "slack_threshold_pct", "recovery_target_s", "hold_off_s")
_EVIDENCE = ("reading_max_age_s", "reading_half_life_s")
_CPU = ("cpu_high_pct", "cpu_low_pct", "hold_off_s")

_KANIS = "Kanis, TU Delft 2023"

_POLICIES: Mapping[str, PolicyCard] = {
    "autrascale": PolicyCard(
        summary="throughput, latency and backlog one after the other, by trial and Gaussian processes",
        source="Zhang et al., Bayesian-Driven Automated Scaling (AuTraScale+), IEEE TPDS 2024",
        build=_on_nodes_as_told(AutrascalePolicy),
        told=("autrascale", "hold_off_s", "node_choice", "seed"),
        guide="policies/autrascale.md",
        needs=("autrascale", "sklearn"),
    ),
    "daedalus": PolicyCard(
        summary="the fewest replicas that carry the input, catch up in time after a stop, and carry the forecast",
        source="Pfister, Scheinert, Geldenhuys, Kao, Daedalus, ICPE 2024",
        build=_on_nodes_as_told(DaedalusPolicy),
        told=("daedalus", "hold_off_s", "node_choice", "seed"),
        guide="policies/daedalus.md",
        needs=("daedalus", "statsmodels"),
    ),
    "dhalion": PolicyCard(
        summary="bottlenecks grow by the share of their load left undone; without any, operators shrink by a fifth",
        source=f"Floratou et al., Dhalion, VLDB 2017; as in {_KANIS}, section 6.7.1",
        build=_on_nodes_as_told(DhalionPolicy),
        told=("dhalion", "back_pressure_threshold", "hold_off_s", "node_choice", "seed"),
        guide="policies/dhalion.md",
    ),
    "drs": PolicyCard(
        summary="the fewest replicas with which a network of queues promises the latency, by measured rates",
        source="Fu et al., DRS, ICDCS 2015 and IEEE/ACM ToN 2017; the baseline of AuTraScale+",
        build=_on_nodes_as_told(DrsPolicy),
        told=("drs", "hold_off_s", "node_choice", "seed"),
        guide="policies/drs.md",
    ),
    "ds2": PolicyCard(
        summary="true rates, pushed down the workflow, size all operators in one decision",
        source="Kalavri et al., Three steps is all you need, OSDI 2018; as in Kanis, TU Delft 2023, section 6.7.2",
        build=_on_nodes_as_told(Ds2Policy),
        told=("ds2", "hold_off_s", "node_choice", "seed"),
        guide="policies/ds2.md",
    ),
    "gesscale": PolicyCard(
        summary="the performance model of Eq. 1-3 and the latency map",
        source=_PAPER,
        build=GesscalePolicy,
        told=("law", *_MODEL, *_EVIDENCE),
        guide="policies/gesscale.md",
    ),
    "hpa-cpu": PolicyCard(
        summary="the Horizontal Pod Autoscaler for each operator, on its CPU",
        source=f"the Kubernetes documentation; as in {_KANIS}, section 6.7.3",
        build=_on_nodes_as_told(HpaCpuPolicy),
        told=("hpa_cpu", "hold_off_s", "node_choice", "seed"),
        guide="policies/hpa.md",
    ),
    "hpa-varga": PolicyCard(
        summary="the same on utilisation and, at a bottleneck, on how fast the lag grows",
        source=f"Varga et al., 2021; as in {_KANIS}, section 6.7.4",
        build=_on_nodes_as_told(HpaVargaPolicy),
        told=("hpa_varga", "back_pressure_threshold", "hold_off_s", "node_choice", "seed"),
        guide="policies/hpa.md",
    ),
    "mdl-nlunaware": PolicyCard(
        summary="Eq. 2 alone, which knows no delays; nodes drawn at random",
        source=f"{_PAPER}, section V",
        build=lambda workflow, options: GesscalePolicy(workflow, options, latency_aware=False),
        told=(*_MODEL, *_EVIDENCE, "seed"),
        guide="policies/gesscale.md",
    ),
    "rules": PolicyCard(
        summary="rules of one's own: metrics beyond thresholds for a time scale operators, with guards and bounds",
        source="Rouaux, Framework for Dynamic Scaling in Master-Slave Stream Processing Systems, Imperial College 2014",
        build=rules_policy,
        told=("rules", "hold_off_s", "node_choice", "seed"),
        guide="policies/rules.md",
    ),
    "static": PolicyCard(
        summary="as many replicas as it began with",
        source="the baseline without a scaler",
        build=StaticPolicy,
        guide="policies/thresholds.md",
    ),
    "thr-nlaware": PolicyCard(
        summary="CPU thresholds; nearest node added, farthest removed",
        source=f"{_PAPER}, section V",
        build=ThresholdPolicy,
        told=_CPU,
        guide="policies/thresholds.md",
    ),
    "thr-nlunaware": PolicyCard(
        summary="CPU thresholds; nodes drawn at random",
        source=f"{_PAPER}, section V",
        build=lambda workflow, options: ThresholdPolicy(workflow, options, latency_aware=False),
        told=(*_CPU, "seed"),
        guide="policies/thresholds.md",
    ),
}


def policy_names() -> Mapping[str, str]:
    """Return each policy's name with one line on what it does."""
    return {name: card.summary for name, card in _POLICIES.items()}


def policy_card(name: str) -> PolicyCard:
    """Return what is to be known of a policy.

    Raises
    ------
    SettingsError
        When there is no policy of that name.
    """
    if name not in _POLICIES:
        message = f"there is no policy {name!r}; {suggestion(name, _POLICIES)}"
        raise SettingsError(message)
    return _POLICIES[name]


def policy_named(name: str, workflow: Workflow, options: PolicyOptions) -> Policy:
    """Build a policy.

    Parameters
    ----------
    name
        One of `policy_names`.
    workflow
        What it is to scale.
    options
        What it is told.

    Returns
    -------
    Policy
        Ready for the loop.

    Raises
    ------
    SettingsError
        When there is no policy of that name, or what it imports is not installed.
    """
    card = policy_card(name)
    if card.needs is not None and not card.is_installed:
        extra, package = card.needs
        message = f'policy {name} needs {package}: pip install "gesscale[{extra}]"'
        raise SettingsError(message)
    return card.build(workflow, options)
