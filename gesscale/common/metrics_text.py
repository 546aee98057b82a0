"""Metrics in the text format of Prometheus, written with the standard library only."""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPED = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


class LabelledValue(NamedTuple):
    """Value of a metric with its labels; None is written as NaN."""

    labels: Mapping[str, str]
    value: float | None


class MetricFamily(NamedTuple):
    """Metric with all its values: a counter if its name ends in ``_total``, else a gauge."""

    name: str
    text: str
    samples: Iterable[LabelledValue]


def exposition(families: Iterable[MetricFamily]) -> bytes:
    r"""Format metrics for a scrape by Prometheus.

    Examples
    --------
    >>> exposition([MetricFamily("up", "Whether it runs.", [LabelledValue({"node": 'a"b'}, 1)])]).decode()
    '# HELP up Whether it runs.\n# TYPE up gauge\nup{node="a\\"b"} 1.0\n'
    """
    lines = []
    for name, text, samples in families:
        kind = "counter" if name.endswith("_total") else "gauge"
        lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
        for labels, value in samples:
            pairs = ",".join(f'{label}="{content.translate(_ESCAPED)}"' for label, content in labels.items())
            lines.append(f"{name}{{{pairs}}} {_number(value)}")
    return "".join(f"{line}\n" for line in lines).encode()


def _number(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "NaN"
    return repr(float(value)).replace("inf", "Inf")
