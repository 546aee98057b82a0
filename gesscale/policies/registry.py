"""The policies by name: what each is, where it is from, what it can be told, and how it is built."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from gesscale.errors import SettingsError
from gesscale.options import PolicyOptions
from gesscale.policies.gesscale import GesscalePolicy
from gesscale.policies.static import StaticPolicy
from gesscale.policies.threshold import ThresholdPolicy
from gesscale.ports import Policy
from gesscale.words import suggestion
from gesscale.workflow import Workflow

_PAPER = "Arkian, Pierre, Tordsson, Elmroth, Gesscale, ICCCN 2021"


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
    told
        The settings of group ``analyze`` that it heeds, by their names in code.
    guide
        Its page in the folder docs; empty where it has none of its own.
    needs
        A package that it imports, by the name of the extra that installs it; none for most.
    """

    summary: str
    source: str
    build: Callable[[Workflow, PolicyOptions], Policy]
    told: tuple[str, ...] = ()
    guide: str = ""
    needs: tuple[str, str] | None = None

    @property
    def is_installed(self) -> bool:
        """Whether all that it imports is there."""
        return self.needs is None or find_spec(self.needs[1]) is not None


_MODEL = ("back_pressure_threshold", "slack_threshold_pct", "recovery_target_s", "hold_off_s")
_EVIDENCE = ("reading_max_age_s", "reading_half_life_s")
_CPU = ("cpu_high_pct", "cpu_low_pct", "hold_off_s")

_POLICIES: Mapping[str, PolicyCard] = {
    "gesscale": PolicyCard(
        summary="the performance model of Eq. 1-3 and the latency map",
        source=_PAPER,
        build=GesscalePolicy,
        told=("law", *_MODEL, *_EVIDENCE),
    ),
    "mdl-nlunaware": PolicyCard(
        summary="Eq. 2 alone, which knows no delays; nodes drawn at random",
        source=f"{_PAPER}, section V",
        build=lambda workflow, options: GesscalePolicy(workflow, options, latency_aware=False),
        told=(*_MODEL, *_EVIDENCE, "seed"),
    ),
    "static": PolicyCard(
        summary="as many replicas as it began with",
        source="the baseline without a scaler",
        build=StaticPolicy,
    ),
    "thr-nlaware": PolicyCard(
        summary="CPU thresholds; nearest node added, farthest removed",
        source=f"{_PAPER}, section V",
        build=ThresholdPolicy,
        told=_CPU,
    ),
    "thr-nlunaware": PolicyCard(
        summary="CPU thresholds; nodes drawn at random",
        source=f"{_PAPER}, section V",
        build=lambda workflow, options: ThresholdPolicy(workflow, options, latency_aware=False),
        told=(*_CPU, "seed"),
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
