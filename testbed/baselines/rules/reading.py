"""Rules as YAML: the twin of the builder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml  # writes; `latency_map.formats.yaml_text` reads
from pydantic import ValidationError

from gesscale.fields import format_duration
from latency_map.errors import LatencyMapError, glimpse
from latency_map.formats.yaml_text import parse_yaml, read_text
from testbed.baselines.rules.model import PolicyError, RuleSet
from testbed.baselines.rules.wording import faults_in_a_line


def read_rules(path: Path) -> RuleSet:
    """Read a file of rules.

    Parameters
    ----------
    path
        YAML in UTF-8: ``name`` and ``rules``.

    Raises
    ------
    PolicyError
        With every fault in one line: which member, what was expected and what came.
    """
    try:
        text = read_text(path, f"rules file {path}")
    except OSError as error:
        message = f"rules file {path}: {error.strerror or error}; name an existing YAML file"
        raise PolicyError(message) from error
    except LatencyMapError as error:
        raise PolicyError(str(error)) from error
    return parse_rules(text, f"rules file {path}")


def parse_rules(text: str, origin: str = "rules") -> RuleSet:
    """Read rules from YAML.

    Parameters
    ----------
    text
        The YAML.
    origin
        Where it is from, for messages.

    Raises
    ------
    PolicyError
        As `read_rules`.
    """
    try:
        document = parse_yaml(text, origin)
    except LatencyMapError as error:
        raise PolicyError(str(error)) from error
    if not isinstance(document, dict):
        message = f"{origin}: expected a mapping such as `rules: [...]`, got {glimpse(document)}"
        raise PolicyError(message)
    try:
        return RuleSet.model_validate(document)
    except ValidationError as error:
        message = f"{origin}: {faults_in_a_line(error, document)}"
        raise PolicyError(message) from None


def rules_yaml(rules: RuleSet) -> str:
    """Write rules as YAML, without what goes without saying; `parse_rules` reads them back."""
    document = rules.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return yaml.safe_dump(_with_durations(document), sort_keys=False, allow_unicode=True, width=110)


def rules_schema() -> dict[str, Any]:
    """Return the JSON Schema of a file of rules."""
    return RuleSet.model_json_schema(by_alias=True)


def _with_durations(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key: format_duration(item) if key in {"for", "within"} else _with_durations(item)
            for key, item in value.items()
        }
    return [_with_durations(item) for item in value] if isinstance(value, list) else value
