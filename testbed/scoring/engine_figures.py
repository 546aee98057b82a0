"""Figures that the engine and the sources of a workflow report, as Kanis (2023, sections 5.3 and 6.4.2) has them."""

import math
from collections.abc import Collection
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from testbed.scoring.sample import Sample

#: Time between two samples of the latency, seconds (Kanis 2023, 6.4.2).
LATENCY_SAMPLE_S = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFigures:
    """Figures over the measurement; None if unknown."""

    #: Time that the newest rows which the sources emitted had waited, a sample each 15 s while they emit rows, seconds
    #: (latency_emitted_mean_s, latency_emitted_p50_s, latency_emitted_p95_s, latency_emitted_max_s).
    latency_emitted_mean_s: float | None
    latency_emitted_p50_s: float | None
    latency_emitted_p95_s: float | None
    latency_emitted_max_s: float | None
    #: Rows that the sources processed, as a share of those offered to them.
    throughput_ratio: float | None
    #: Rows that the retention of the sources dropped unread, as a share of those offered, until the end of the run.
    rows_lost_ratio: float | None
    #: CPU use of all replicas together, mean over time, 0..1.
    cpu_share_mean: float | None


class EngineMeter:
    """Accumulates samples of all operators of a workflow; each holds until the operator's next one.

    Parameters
    ----------
    sources
        Operators that read a source of the workflow.
    """

    def __init__(self, measured_s: float, sources: Collection[str]) -> None:
        self._measured_s, self._sources = measured_s, tuple(sources)
        self._samples: dict[str, Sample] = {}
        self._at_s = self._next_latency_s = 0.0
        self._latencies_s: list[float] = []
        self._offered = self._processed = self._all_offered = self._lost = 0.0
        self._cpu_share_s: float | None = 0.0

    def on_sample(self, operator: str, sample: Sample) -> None:
        """Add an operator's sample; samples arrive in the order of time, those of an instant in any order."""
        if sample.t_s > self._at_s:
            self._hold_until(sample.t_s)
        self._samples[operator] = sample

    def engine_figures(self, ended_at_s: float) -> EngineFigures:
        """Return the figures; the newest samples hold until the end of the run."""
        self._hold_until(ended_at_s)
        latencies_s = np.array(self._latencies_s)
        p50_s, p95_s = np.quantile(latencies_s, (0.5, 0.95)).tolist() if len(latencies_s) else (None, None)
        return EngineFigures(
            latency_emitted_mean_s=float(latencies_s.mean()) if len(latencies_s) else None,
            latency_emitted_p50_s=p50_s,
            latency_emitted_p95_s=p95_s,
            latency_emitted_max_s=float(latencies_s.max()) if len(latencies_s) else None,
            throughput_ratio=self._processed / self._offered if self._offered else None,
            rows_lost_ratio=self._lost / self._all_offered if self._all_offered else None,
            cpu_share_mean=None if self._cpu_share_s is None else self._cpu_share_s / self._measured_s,
        )

    def _hold_until(self, until_s: float) -> None:
        """Close the current instant, now that all its samples have arrived."""
        from_s, self._at_s = self._at_s, max(self._at_s, until_s)
        read = [self._samples[name] for name in self._sources if name in self._samples]
        for sample in read:
            self._all_offered += sample.input_rows_per_s * (self._at_s - from_s)
            self._lost += sample.lost_rows_per_s * (self._at_s - from_s)
        measured_s = min(self._at_s, self._measured_s) - from_s
        if measured_s <= 0:
            return
        self._offered += measured_s * sum(sample.input_rows_per_s for sample in read)
        self._processed += measured_s * sum(sample.processed_rows_per_s for sample in read)
        self._use_cpu(measured_s)
        if from_s >= self._next_latency_s:
            self._next_latency_s = (math.floor(from_s / LATENCY_SAMPLE_S) + 1) * LATENCY_SAMPLE_S
            waited_s = [sample.emitted_lag_s for sample in read if sample.emitted_lag_s is not None]
            self._latencies_s += [fmean(waited_s)] if waited_s else []

    def _use_cpu(self, seconds: float) -> None:
        samples = self._samples.values()
        used = [sample.cpu_s_per_s for sample in samples if sample.cpu_s_per_s is not None]
        replicas = sum(sample.supply_replicas for sample in samples)
        if self._cpu_share_s is None or len(used) < len(samples):
            self._cpu_share_s = None
        elif replicas:
            self._cpu_share_s += sum(used) / replicas * seconds
