"""Scaling rules after SEEP: metrics, thresholds and times, in Python or in YAML, and the policy that follows them.

The model of M. Rouaux (Framework for Dynamic Scaling in Master-Slave Stream Processing Systems, Imperial College
London, 2014). docs/reference/policies/rules.md is its guide.
"""

from gesscale.policies.card import ON_NODES, PolicyCard
from testbed.baselines.rules.builder import (
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
from testbed.baselines.rules.model import Metric, PolicyError, Rule, RuleSet
from testbed.baselines.rules.policy import rules_policy
from testbed.baselines.rules.reading import parse_rules, read_rules, rules_schema, rules_yaml
from testbed.baselines.rules.settings import RulesSettings

CARD = PolicyCard(
    name="rules",
    summary="rules of one's own: metrics beyond thresholds for a time scale operators, with guards and bounds",
    source="Rouaux, Framework for Dynamic Scaling in Master-Slave Stream Processing Systems, Imperial College 2014",
    build=rules_policy,
    settings=RulesSettings,
    accepts=ON_NODES,
    guide="reference/policies/rules.md",
)

__all__ = [
    "CARD",
    "Metric",
    "PolicyError",
    "PolicyRules",
    "Rule",
    "RuleSet",
    "above",
    "absolute",
    "all_operators",
    "below",
    "exactly",
    "factor",
    "metric",
    "millis",
    "minutes",
    "nodes",
    "operator",
    "parse_rules",
    "percent",
    "percentage",
    "read_rules",
    "relative",
    "rows",
    "rows_per_second",
    "rules_schema",
    "rules_yaml",
    "seconds",
    "tuples",
]
