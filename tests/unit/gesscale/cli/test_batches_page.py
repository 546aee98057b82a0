"""The page of batches as the docs show it, by somebody who writes it himself."""

import json
import re
import time
from pathlib import Path

import pytest
from werkzeug import Response

DOCS = Path(__file__).parents[4] / "docs"
SAMPLE = json.loads(
    re.findall(r"```json\n(.*?)```", (DOCS / "reference" / "spark_metrics.md").read_text("utf-8"), re.DOTALL)[
        0
    ]
)
LEAST = set(
    re.findall(
        r"`(\w+)`",
        "".join(
            re.findall(
                r"^\| (`\w+`.*?) \|", (DOCS / "howto" / "metric_source.md").read_text("utf-8"), re.MULTILINE
            )
        ),
    )
)


def page(*, only_least: bool) -> str:
    """Return the sample as of now, with all members or with the least that the guide names."""
    ago_s = time.time() - SAMPLE["now_s"]
    moved = json.loads(json.dumps(SAMPLE))
    moved |= {
        "operator": "op",
        "now_s": time.time(),
        "last_progress_at_s": moved["last_progress_at_s"] + ago_s,
    }
    for batch in moved["batches"]:
        for name in ("started_at_s", "ended_at_s"):
            batch[name] += ago_s
        batch |= {"hosts": ["hub", "near"], "hosts_at_start": ["hub", "near"]}
        if only_least:
            for name in {*batch} - LEAST:
                del batch[name]
    return json.dumps(moved)


@pytest.mark.parametrize("only_least", [False, True])
def test_the_sample_is_read_as_it_is_meant(gesscale, site, only_least):
    site.answer(lambda: Response(page(only_least=only_least)))
    code, out, said = gesscale("recommend", "-c", site.config, "-o", "json")
    assert code == 0, said
    reading = json.loads(out)["decisions"][0]["analysis"]["reading"]
    # 200 rows in 2.5 s, the trigger's interval: 80 rows/s, and all of the time in batches.
    assert reading["throughput_rows_per_s"] == pytest.approx(80.0)
    assert reading["placement"] == ["hub", "near"]
    assert reading["backlog_rows"] == 2400
