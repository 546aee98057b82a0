"""What policies can be told: thresholds that several share, and a group of settings for each of the others."""

from dataclasses import dataclass, field
from typing import Literal

from gesscale.options.autrascale import AutrascaleSettings
from gesscale.options.daedalus import DaedalusSettings
from gesscale.options.dhalion import DhalionSettings
from gesscale.options.drs import DrsSettings
from gesscale.options.ds2 import Ds2Settings
from gesscale.options.hpa import HpaCpuSettings, HpaVargaSettings
from gesscale.options.rules import RulesSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyOptions:
    """Thresholds of the policies; the settings of group ``analyze`` explain each.

    Attributes
    ----------
    law
        The law of the performance model.
    back_pressure_threshold
        Share of a window, 0..1 (Algorithm 1: 0.5).
    slack_threshold_pct
        DT from which Algorithm 2 asks for fewer replicas, per cent.
    recovery_target_s
        A backlog that will have drained within this time is no overload.
    hold_off_s
        For so long after a change nothing is judged.
    reading_half_life_s, reading_max_age_s
        How evidence loses weight and when it is left out.
    cpu_high_share, cpu_low_share
        The thresholds of THR, 0..1.
    seed
        Of the draws of policies that draw.
    node_choice
        Where a policy that knows no delays puts replicas: on nodes that it draws, or on the nearest.
    hpa_cpu, hpa_varga, dhalion, ds2, drs, daedalus, rules, autrascale
        What only the policy of that name is told.
    """

    law: str = "gesscale"
    back_pressure_threshold: float = 0.5
    slack_threshold_pct: float = 30.0
    recovery_target_s: float = 600.0
    hold_off_s: float = 0.0
    reading_half_life_s: float | None = None
    reading_max_age_s: float | None = None
    cpu_high_share: float = 0.9
    cpu_low_share: float = 0.5
    seed: int = 0
    node_choice: Literal["drawn", "nearest"] = "drawn"
    hpa_cpu: HpaCpuSettings = field(default_factory=HpaCpuSettings)
    hpa_varga: HpaVargaSettings = field(default_factory=HpaVargaSettings)
    dhalion: DhalionSettings = field(default_factory=DhalionSettings)
    ds2: Ds2Settings = field(default_factory=Ds2Settings)
    drs: DrsSettings = field(default_factory=DrsSettings)
    daedalus: DaedalusSettings = field(default_factory=DaedalusSettings)
    rules: RulesSettings = field(default_factory=RulesSettings)
    autrascale: AutrascaleSettings = field(default_factory=AutrascaleSettings)
