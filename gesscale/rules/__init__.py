"""Scaling rules after SEEP: metrics, thresholds and times, in Python or in YAML.

The model of M. Rouaux (Framework for Dynamic Scaling in Master-Slave Stream Processing Systems, Imperial College
London, 2014). docs/policies/rules.md is its guide; `gesscale.policies.rules` is the policy that goes by it.
"""

from gesscale.rules.builder import (
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
from gesscale.rules.model import Metric, PolicyError, Rule, RuleSet
from gesscale.rules.reading import parse_rules, read_rules, rules_schema, rules_yaml

__all__ = [
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
