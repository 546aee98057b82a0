"""The page of all settings, written from the settings themselves."""

from gesscale.settings.groups import Settings
from gesscale.settings.schema import plain_schema, schema_rows

_HEAD = """\
# Settings

Written by `gesscale config docs > docs/reference/settings.md`; change the descriptions in `gesscale/settings/`.

An option (`--set monitor.period=30s`) wins over the environment (`GESSCALE_MONITOR__PERIOD=30s`), that
over the YAML file, that over the default. A duration is a number of seconds or a number with a unit:
`250ms`, `30s`, `5m`, `1h`, `7d`; from `1ms` to `3650d`. YAML is read strictly: every key once, no tags, no date but as
text, at most 8 MiB, 200,000 values with those of aliases, 64 levels. `gesscale config validate FILE` checks a file,
`gesscale config schema` prints its JSON Schema.

| Setting | Type | Default | Meaning, and why this default |
|---|---|---|---|
"""


def settings_page() -> str:
    """Return the page as Markdown, one row per setting: what docs/reference/settings.md holds."""
    return _HEAD + "".join(
        f"| `{row.key}` | {row.kind} | {row.default} | {row.meaning} |\n"
        for row in schema_rows(plain_schema(Settings))
    )
