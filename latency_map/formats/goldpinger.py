"""Response of Goldpinger's ``/check_all``: HTTP response times between its pods, one per node.

The format is defined by the models ``CheckAllResults`` and ``PodResult`` of bloomberg/goldpinger (swagger.yml).
Response times are whole milliseconds, rounded down; Goldpinger omits a time of 0.
"""

from datetime import datetime

import numpy as np

from gesscale.common.errors import Problem
from latency_map.errors import LatencyMapError
from latency_map.formats.json_text import Json, as_number, kind_of
from latency_map.formats.source import ImportOptions, MapSource, RawDelays, check_file_names
from latency_map.grid import Grid
from latency_map.kinds import DelayKind, DelayUnit


def read_check_all(source: MapSource, _options: ImportOptions) -> RawDelays:
    """Read a response of ``/check_all``.

    Raises
    ------
    LatencyMapError
        The response is invalid.
    """
    pods = _PodResponses(source)
    content = pods.object(source.json, "")
    for pod, response in pods.object(content.get("responses", {}), "responses").items():
        pods.add(pod, response)
    return pods.delays()


class _PodResponses:
    """Response times that pods measured."""

    def __init__(self, source: MapSource) -> None:
        self.source = source
        self.grid = Grid(source.name, source.limits, {"delay": np.float64(np.nan)})
        self.hosts: dict[str, str] = {}
        self.responding: list[str] = []
        self.failed = self.below_one_ms = 0
        self.newest_s = 0.0

    def object(self, content: Json, place: str) -> dict[str, Json]:
        if not isinstance(content, dict):
            raise self._value_error(place, "an object", content)
        return content

    def add(self, pod: str, content: Json) -> None:
        """Add the response of a pod; older versions have the results without ``podResults``."""
        place = f"responses.{pod}"
        self.responding.append(pod)
        row = self.grid.number(pod)
        response = self.object(content, place)
        host = response.get("HostIP")
        if isinstance(host, str) and host:
            self.hosts[pod] = host  # takes precedence over what other pods report
        if response.get("response") is None:  # the pod did not respond
            return
        results = self.object(response["response"], f"{place}.response")
        if "podResults" in results or "dnsResults" in results:
            results = self.object(results.get("podResults", {}), f"{place}.response.podResults")
        for other, result in results.items():
            self.add_result(row, other, result, f"{place}.response.podResults.{other}")

    def add_result(self, row: int, other: str, content: Json, place: str) -> None:
        result = self.object(content, place)
        column = self.grid.number(other)
        host = result.get("HostIP")
        if isinstance(host, str) and host:
            self.hosts.setdefault(other, host)
        self.newest_s = max(self.newest_s, _seconds(result.get("PingTime")))
        if result.get("OK") is not True:
            self.failed += 1
            return
        value = result.get("response-time-ms", 0)
        delay = as_number(value)
        if delay is None or delay < 0:
            raise self._value_error(place, "response-time-ms of at least 0", value)
        self.below_one_ms += delay == 0
        self.grid.layers["delay"][row, column] = delay

    def delays(self) -> RawDelays:
        if not self.responding:
            raise LatencyMapError("map-empty", source=self.source.name, place="responses", expected="responses of pods")
        pods = tuple(dict.fromkeys((*self.responding, *self.grid.numbers)))
        addresses = tuple(self.hosts[pod] for pod in pods if pod in self.hosts)
        one_pod_per_host = len(set(addresses)) == len(pods)
        names = addresses if one_pod_per_host else pods
        check_file_names(self.source.name, names)
        values = self.grid.finish("delay", [self.grid.numbers[pod] for pod in pods])
        # a pod that checks itself measures its loopback
        np.fill_diagonal(values, 0.0)
        notes = [Problem("import-host-names" if one_pod_per_host else "import-pod-names")]
        if self.failed:
            notes.append(Problem("import-checks-failed", {"count": self.failed}))
        if self.below_one_ms:
            notes.append(Problem("import-times-zero", {"count": self.below_one_ms}))
        return RawDelays(
            names=names,
            values=values,
            place=lambda a, b: f"responses.{pods[a]}.response.podResults.{pods[b]}",
            unit=DelayUnit.MS,
            kind=DelayKind.RTT,
            stated_at="response times of Goldpinger in milliseconds",
            measured_at_s=self.newest_s if self.newest_s > 0 else None,
            notes=tuple(notes),
            warnings=(Problem("map-http-times"),),
        )

    def _value_error(self, place: str, expected: str, content: Json) -> LatencyMapError:
        source, got = self.source.name, kind_of(content)
        return LatencyMapError("map-value-invalid", source=source, place=place, expected=expected, got=got)


def _seconds(time: Json) -> float:
    """Return the time of a check in seconds since the epoch; 0 if it is absent or the zero time of Go."""
    try:
        return datetime.fromisoformat(str(time)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
