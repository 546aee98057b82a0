"""The table of `docs/workloads.md`, made from the catalogue."""

from testbed.workloads.registry import entries


def workload_table() -> str:
    """Return a Markdown table, a row per named load."""
    head = "| name | what | length | source | by seed | after a colon |\n|---|---|---|---|---|---|\n"
    rows = (
        f"| `{entry.name}` | {entry.what} | {entry.length} | {entry.source} "
        f"| {'yes' if entry.is_random else '–'} | {entry.parameter or '–'} |\n"
        for entry in entries()
    )
    return head + "".join(rows)
