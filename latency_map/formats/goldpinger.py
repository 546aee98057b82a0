"""The answer of Goldpinger's ``/check_all``: HTTP response times between its pods, one per node.

Source of the form: models ``CheckAllResults`` and ``PodResult`` of bloomberg/goldpinger (swagger.yml). Response
times are whole milliseconds, rounded down, and a time of 0 is left out of the answer.
"""

from datetime import datetime

import numpy as np

from latency_map.errors import error_at
from latency_map.formats.json_text import Json, as_number, kind_of
from latency_map.formats.source import MapSource, RawDelays, SideFiles, check_file_names
from latency_map.grid import Grid
from latency_map.kinds import DelayKind, DelayUnit

_WARNING = (
    "Goldpinger times HTTP requests, in whole milliseconds rounded down: that is not the round trip of a packet;"
    " measure the map with ICMP where it decides"
)


def read_check_all(source: MapSource, _side_files: SideFiles) -> RawDelays:
    """Read an answer of ``/check_all``.

    Raises
    ------
    LatencyMapError
        It is no such answer; the message says where.
    """
    answers = _Answers(source)
    content = answers.object(source.json, "")
    for pod, answer in answers.object(content.get("responses", {}), "responses").items():
        answers.take(pod, answer)
    return answers.delays()


class _Answers:
    """What pods say of one another."""

    def __init__(self, source: MapSource) -> None:
        self.source = source
        self.grid = Grid(source.name, source.limits, {"delay": np.float64(np.nan)})
        self.hosts: dict[str, str] = {}
        self.answering: list[str] = []
        self.failed = self.below_one_ms = 0
        self.newest_s = 0.0

    def object(self, content: Json, place: str) -> dict[str, Json]:
        if not isinstance(content, dict):
            raise error_at(self.source.name, place, f"expected an object, got {kind_of(content)}")
        return content

    def take(self, pod: str, said: Json) -> None:
        """Take the answer of a pod; older versions have its results without ``podResults`` around."""
        place = f"responses.{pod}"
        self.answering.append(pod)
        row = self.grid.number(pod)
        answer = self.object(said, place)
        host = answer.get("HostIP")
        if isinstance(host, str) and host:
            self.hosts[pod] = host  # its own word counts before that of others
        if answer.get("response") is None:  # it did not answer
            return
        results = self.object(answer["response"], f"{place}.response")
        if "podResults" in results or "dnsResults" in results:
            results = self.object(results.get("podResults", {}), f"{place}.response.podResults")
        for other, result in results.items():
            self.take_result(row, other, result, f"{place}.response.podResults.{other}")

    def take_result(self, row: int, other: str, said: Json, place: str) -> None:
        result = self.object(said, place)
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
            raise error_at(self.source.name, place, f"expected response-time-ms of at least 0, got {kind_of(value)}")
        self.below_one_ms += delay == 0
        self.grid.layers["delay"][row, column] = delay

    def delays(self) -> RawDelays:
        if not self.answering:
            raise error_at(self.source.name, "responses", "expected the answers of pods, got none")
        pods = tuple(dict.fromkeys((*self.answering, *self.grid.numbers)))
        addresses = tuple(self.hosts[pod] for pod in pods if pod in self.hosts)
        alone = len(set(addresses)) == len(pods)
        names = addresses if alone else pods
        check_file_names(self.source.name, names)
        values = self.grid.finish("delay", [self.grid.numbers[pod] for pod in pods])
        # a pod that checks itself measures its own loopback, not a distance
        np.fill_diagonal(values, 0.0)
        named_by = "the IP of their host"
        if not alone:
            named_by = "the name of their pod: not every pod has a host IP of its own"
        notes = [f"nodes are named by {named_by}"]
        if self.failed:
            notes.append(f"checks that failed and are missing: {self.failed}")
        if self.below_one_ms:
            notes.append(f"times below 1 ms, which Goldpinger leaves out, taken as 0: {self.below_one_ms}")
        return RawDelays(
            names=names,
            values=values,
            place=lambda a, b: f"responses.{pods[a]}.response.podResults.{pods[b]}",
            unit=DelayUnit.MS,
            kind=DelayKind.RTT,
            stated_at="Goldpinger gives response times in milliseconds",
            measured_at_s=self.newest_s if self.newest_s > 0 else None,
            notes=tuple(notes),
            warnings=(_WARNING,),
        )


def _seconds(time: Json) -> float:
    """Return when a check was made, in seconds since the epoch; 0 where it is absent, or Go's zero time."""
    try:
        return datetime.fromisoformat(str(time)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
