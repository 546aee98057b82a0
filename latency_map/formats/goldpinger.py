"""The answer of Goldpinger's ``/check_all``: HTTP response times between its pods, one per node.

Source of the form: models ``CheckAllResults`` and ``PodResult`` of bloomberg/goldpinger (swagger.yml). Response
times are whole milliseconds, rounded down, and a time of 0 is left out of the answer.
"""

from collections.abc import Iterator
from datetime import datetime

import numpy as np

from latency_map.errors import error_at
from latency_map.formats.json_text import Json, JsonReader, as_number, kind_of
from latency_map.formats.raw import RawDelays, check_file_names
from latency_map.grid import Grid
from latency_map.kinds import DelayKind, DelayUnit

_WARNING = (
    "Goldpinger times HTTP requests, in whole milliseconds rounded down: that is not the round trip of a packet;"
    " measure the map with ICMP where it decides"
)


def read_check_all(content: JsonReader) -> RawDelays:
    """Read an answer of ``/check_all``.

    Parameters
    ----------
    content
        The JSON.

    Returns
    -------
    RawDelays
        Nodes by the IP of their host where every pod has one of its own, else by the name of their pod; those
        that answered come first.

    Raises
    ------
    LatencyMapError
        It is no such answer; the message says where.
    """
    if content.begins() != "{":
        raise error_at(content.name, "", f"expected an object, got {kind_of(content.last_value())}")
    answers = _Answers(content)
    for key in content.members():
        if key == "responses":
            for pod in _members(content, "responses"):
                answers.take(pod)
        else:
            content.skip()
    return answers.delays()


class _Answers:
    """What pods say of one another, taken one by one."""

    def __init__(self, content: JsonReader) -> None:
        self.content = content
        self.grid = Grid(content.name, content.limits, {"delay": np.float64(np.nan)})
        self.hosts: dict[str, str] = {}
        self.answering: list[str] = []
        self.failed = self.below_one_ms = 0
        self.newest_s = 0.0

    def take(self, pod: str) -> None:
        """Take the answer of a pod; what it says of itself stands before or after what it says of others."""
        place = f"responses.{pod}"
        self.answering.append(pod)
        row = self.grid.number(pod)
        host: Json = None
        for key in _members(self.content, place):
            if key == "HostIP":
                host = self.content.value()
            elif key == "response" and self.content.begins() != "n":  # null: it did not answer
                self.take_response(row, f"{place}.response")
            else:
                self.content.skip()
        if isinstance(host, str) and host:
            self.hosts[pod] = host  # its own word counts before that of others

    def take_response(self, row: int, place: str) -> None:
        """Take the results of a pod; older versions have them without ``podResults`` around."""
        around = False
        for key in _members(self.content, place):
            around = around or key in ("podResults", "dnsResults")
            if key == "podResults":
                for other in _members(self.content, f"{place}.podResults"):
                    self.take_result(row, other, f"{place}.podResults.{other}")
            elif around:
                self.content.skip()
            else:
                self.take_result(row, key, f"{place}.podResults.{key}")

    def take_result(self, row: int, other: str, place: str) -> None:
        result = self.content.value()
        if not isinstance(result, dict):
            raise error_at(self.content.name, place, f"expected an object, got {kind_of(result)}")
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
            problem = f"expected response-time-ms of at least 0, got {kind_of(value)}"
            raise error_at(self.content.name, place, problem)
        self.below_one_ms += delay == 0
        self.grid.layers["delay"][row, column] = delay

    def delays(self) -> RawDelays:
        if not self.answering:
            raise error_at(self.content.name, "responses", "expected the answers of pods, got none")
        pods = tuple(dict.fromkeys((*self.answering, *self.grid.numbers)))
        addresses = tuple(self.hosts[pod] for pod in pods if pod in self.hosts)
        alone = len(set(addresses)) == len(pods)
        names = addresses if alone else pods
        check_file_names(self.content.name, names)
        values = self.grid.finish("delay", [self.grid.numbers[pod] for pod in pods])
        # a pod that checks itself measures its own loopback, not a distance
        np.fill_diagonal(values, 0.0)
        return RawDelays(
            names=names,
            values=values,
            place=lambda a, b: f"responses.{pods[a]}.response.podResults.{pods[b]}",
            unit=DelayUnit.MS,
            kind=DelayKind.RTT,
            stated_at="Goldpinger gives response times in milliseconds",
            measured_at_s=self.newest_s if self.newest_s > 0 else None,
            notes=self.notes(by_host=alone),
            warnings=(_WARNING,),
        )

    def notes(self, *, by_host: bool) -> tuple[str, ...]:
        named_by = "the IP of their host"
        if not by_host:
            named_by = "the name of their pod: not every pod has a host IP of its own"
        notes = [f"nodes are named by {named_by}"]
        if self.failed:
            notes.append(f"checks that failed and are missing: {self.failed}")
        if self.below_one_ms:
            notes.append(f"times below 1 ms, which Goldpinger leaves out, taken as 0: {self.below_one_ms}")
        return tuple(notes)


def _members(content: JsonReader, place: str) -> Iterator[str]:
    if content.begins() != "{":
        raise error_at(content.name, place, f"expected an object, got {kind_of(content.value())}")
    return content.members()


def _seconds(time: Json) -> float:
    """Return when a check was made, in seconds since the epoch; 0 where it is absent, or Go's zero time."""
    try:
        return datetime.fromisoformat(str(time)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
