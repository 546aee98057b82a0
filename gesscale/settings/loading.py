"""Loads `Settings` from options, environment and YAML file; the first of these that has a setting wins."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, create_model

from gesscale.common.text import shortened
from gesscale.common.yaml_text import parse_yaml, read_yaml
from gesscale.errors import InputError, SettingsError
from gesscale.fields import SettingsGroup, model_within
from gesscale.policies.registry import custom_policy_info, find_policy_info, relative_to
from gesscale.settings.analyze import AnalyzeSettings, analyze_settings_with
from gesscale.settings.groups import Settings
from gesscale.settings.problems import SettingsSource, setting_problems

ENVIRONMENT_PREFIX = "GESSCALE_"
_PATHS = (("latency_map", "file"), ("knowledge", "file"), ("analyze", "rules", "file"))


def load_settings(
    path: Path | None, overrides: Sequence[str] = (), environ: Mapping[str, str] = os.environ, *, trusted: bool = True
) -> Settings:
    """Read settings from all their sources.

    Parameters
    ----------
    path
        A YAML file; relative paths in it start at its directory. None for no file.

    Raises
    ------
    SettingsError
        With a problem for each rejected setting: its source, its name, the expected and the rejected value. If a custom
        policy cannot be used, that is the only problem.
    """
    sources = [_from_options(overrides), _from_environment(environ)]
    if path is not None:
        file = _from_file(path)
        sources.append(file if trusted else _without_custom_policy(file, sources))
    document: dict[str, Any] = {}
    for source in reversed(sources):
        document = _merged(document, source.document)
    kind = _kind(sources)
    try:
        return kind.model_validate(document)
    except ValidationError as error:
        raise SettingsError(setting_problems(error, sources, kind)) from None


def policy_override(policy: str) -> str:
    """Return the option that names a policy, with any characters quoted."""
    return f"analyze.policy={json.dumps(policy)}"


def _kind(sources: Iterable[SettingsSource]) -> type[Settings]:
    """Return the class of the settings, with the groups of custom policies if any is named."""
    policies = [_named_policy(source.document) for source in sources]
    custom = {name: custom_policy_info(name) for name in reversed(policies) if ":" in name}
    if not custom:
        return Settings
    analyze = analyze_settings_with(custom)
    return create_model("Settings", __base__=Settings, analyze=(analyze, Field(analyze())))


def _named_policy(document: Mapping[str, Any]) -> str:
    analyze = document.get("analyze")
    policy = analyze.get("policy") if isinstance(analyze, Mapping) else None
    return policy if isinstance(policy, str) else ""


def _without_custom_policy(file: SettingsSource, above: Iterable[SettingsSource]) -> SettingsSource:
    """Return the settings of a file without the custom policy that it names, whose code must not run."""
    custom = _named_policy(file.document)
    if ":" not in custom:
        return file
    policies = [_named_policy(source.document) for source in above]
    if not any(policies):
        raise SettingsError("custom-policy-not-allowed", source=file.name, place="analyze.policy", policy=custom)
    known = {name: field.alias or name for name, field in AnalyzeSettings.model_fields.items()}
    keys = {*known, *known.values(), find_policy_info(next(filter(None, policies))).group} - {"policy"}
    analyze = {key: value for key, value in file.document["analyze"].items() if key in keys}
    return replace(file, document={**file.document, "analyze": analyze})


def _from_file(path: Path) -> SettingsSource:
    try:
        document = read_yaml(path, str(path))
    except OSError as error:
        raise SettingsError("settings-file-unreadable", source=path, cause=error.strerror or str(error)) from error
    except InputError as error:
        raise SettingsError(error.problems) from error
    if document is None:
        document = {}
    if not isinstance(document, dict):
        raise SettingsError("settings-file-invalid", source=path, got=document)
    for *above, key in _PATHS:
        group: Any = document
        for name in above:
            group = group.get(name) if isinstance(group, dict) else None
        if isinstance(group, dict) and isinstance(group.get(key), str):
            group[key] = str(path.parent / group[key])
    analyze = document.get("analyze")
    if isinstance(analyze, dict) and isinstance(policy := analyze.get("policy"), str):
        analyze["policy"] = relative_to(policy, path.parent)
    return SettingsSource(name=str(path), document=document)


def _from_environment(environ: Mapping[str, str]) -> SettingsSource:
    # Other names without "__" are valid: the test bed uses some to mark its processes.
    by_misspelling = {
        f"{group}_{inner.alias}".upper(): f"{group}__{inner.alias}".upper()
        for group, field in Settings.model_fields.items()
        for inner in (model_within(field.annotation) or SettingsGroup).model_fields.values()
    }
    for name in sorted(environ):
        if name.startswith(ENVIRONMENT_PREFIX) and (key := by_misspelling.get(name.removeprefix(ENVIRONMENT_PREFIX))):
            nearest = f"{ENVIRONMENT_PREFIX}{key}"
            raise SettingsError("setting-variable-misspelt", source="environment", name=name, nearest=nearest)
    found = [
        (name.removeprefix(ENVIRONMENT_PREFIX).lower().split("__"), value, name)
        for name, value in sorted(environ.items())
        if name.startswith(ENVIRONMENT_PREFIX) and "__" in name
    ]
    return SettingsSource(name="environment", document=_nested(found))


def _from_options(overrides: Iterable[str]) -> SettingsSource:
    found = []
    for override in overrides:
        key, equals, value = override.partition("=")
        if not (key and equals):
            raise SettingsError("setting-option-malformed", got=override)
        found.append((key.strip().split("."), value, f"option {shortened(key)}"))
    return SettingsSource(name="option", document=_nested(found))


def _nested(assignments: Iterable[tuple[list[str], str, str]]) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for keys, text, source in assignments:
        try:
            value = parse_yaml(text, source)
        except InputError as error:
            raise SettingsError("settings-text-invalid", source=source, cause=str(error), got=text) from error
        for key in reversed(keys):
            value = {key: value}
        document = _merged(document, value)
    return document


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        both = value and isinstance(value, dict) and isinstance(merged.get(key), dict)  # {} replaces a group
        merged[key] = _merged(merged[key], value) if both else value
    return merged
