"""Recorded runs in which the live loop read CPU."""

import json
import shutil
from pathlib import Path


def record_with_cpu(source: Path, target: Path) -> Path:
    """Copy a record, with the share of time in batches as the CPU share of each reading."""
    shutil.copytree(source, target)
    lines = [json.loads(line) for line in (target / "decisions.jsonl").read_text().splitlines()]
    for line in lines:
        if reading := line["analysis"]["reading"]:
            reading["cpu_share"] = reading["busy_share"]
    (target / "decisions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return target
