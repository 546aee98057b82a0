"""The answer of Goldpinger's ``/check_all``: HTTP response times between its pods, one per node.

Source of the form: models ``CheckAllResults`` and ``PodResult`` of bloomberg/goldpinger (swagger.yml). Response
times are whole milliseconds, rounded down, and a time of 0 is left out of the answer.
"""

from datetime import datetime

import numpy as np

from latency_map.delays import DelayKind, DelayUnit
from latency_map.formats.json_text import Json, as_number, kind_of
from latency_map.formats.raw import RawDelays, check_file_names, error_at

_WARNING = (
    "Goldpinger times HTTP requests, in whole milliseconds rounded down: that is not the round trip of a packet;"
    " measure the map with ICMP where it decides"
)


def is_check_all(content: Json) -> bool:
    """Tell whether a piece of JSON is an answer of ``/check_all``."""
    return isinstance(content, dict) and isinstance(content.get("responses"), dict)


def read_check_all(content: Json, source: str) -> RawDelays:
    """Read an answer of ``/check_all``.

    Parameters
    ----------
    content
        The JSON.
    source
        Names it in messages.

    Returns
    -------
    RawDelays
        Nodes by the IP of their host where every pod has one of its own, else by the name of their pod.

    Raises
    ------
    LatencyMapError
        It is no such answer; the message says where.
    """
    responses = _object(content, "", source).get("responses")
    pods = {pod: _object(answer, f"responses.{pod}", source) for pod, answer in _items(responses, source)}
    seen_by = {pod: _results(pod, answer, source) for pod, answer in pods.items()}
    hosts = {pod: answer.get("HostIP") for pod, answer in pods.items()}
    for results in seen_by.values():
        for pod, result in results.items():
            if not hosts.get(pod):
                hosts[pod] = result.get("HostIP")
    names, named_by = _names(hosts)
    check_file_names(source, names)
    positions = {pod: position for position, pod in enumerate(hosts)}
    values = np.full((len(names), len(names)), np.nan)
    failed = below_one_ms = 0
    for a, results in seen_by.items():
        for b, result in results.items():
            if result.get("OK") is not True:
                failed += 1
                continue
            delay = _response_time(result, f"responses.{a}.response.podResults.{b}", source)
            below_one_ms += delay == 0
            values[positions[a], positions[b]] = delay
    notes = [f"nodes are named by {named_by}"]
    if failed:
        notes.append(f"checks that failed and are missing: {failed}")
    if below_one_ms:
        notes.append(f"times below 1 ms, which Goldpinger leaves out, taken as 0: {below_one_ms}")
    # a pod that checks itself measures its own loopback, not a distance
    np.fill_diagonal(values, 0.0)
    return RawDelays(
        names=names,
        values=values,
        place=lambda a, b: f"responses.{list(hosts)[a]}.response.podResults.{list(hosts)[b]}",
        unit=DelayUnit.MS,
        kind=DelayKind.RTT,
        stated_at="Goldpinger gives response times in milliseconds",
        measured_at_s=_newest(seen_by),
        notes=tuple(notes),
        warnings=(_WARNING,),
    )


def _object(content: Json, place: str, source: str) -> dict[str, Json]:
    if not isinstance(content, dict):
        raise error_at(source, place, f"expected an object, got {kind_of(content)}")
    return content


def _items(responses: Json, source: str) -> list[tuple[str, Json]]:
    items = list(_object(responses, "responses", source).items())
    if not items:
        raise error_at(source, "responses", "expected the answers of pods, got none")
    return items


def _results(pod: str, answer: dict[str, Json], source: str) -> dict[str, dict[str, Json]]:
    """Return what a pod says of the others: nothing where it did not answer itself."""
    response = answer.get("response")
    if response is None:
        return {}
    place = f"responses.{pod}.response"
    response = _object(response, place, source)
    results = response.get("podResults", {} if "dnsResults" in response or not response else response)
    listed = _object(results, f"{place}.podResults", source)
    return {other: _object(result, f"{place}.podResults.{other}", source) for other, result in listed.items()}


def _names(hosts: dict[str, Json]) -> tuple[tuple[str, ...], str]:
    addresses = [host for host in hosts.values() if isinstance(host, str) and host]
    if len(addresses) == len(hosts) == len(set(addresses)):
        return tuple(addresses), "the IP of their host"
    return tuple(hosts), "the name of their pod: not every pod has a host IP of its own"


def _response_time(result: dict[str, Json], place: str, source: str) -> float:
    value = result.get("response-time-ms", 0)
    delay = as_number(value)
    if delay is None or delay < 0:
        raise error_at(source, place, f"expected response-time-ms of at least 0, got {kind_of(value)}")
    return delay


def _newest(seen_by: dict[str, dict[str, dict[str, Json]]]) -> float | None:
    times = [result.get("PingTime") for results in seen_by.values() for result in results.values()]
    seconds = []
    for time in times:
        try:
            seconds.append(datetime.fromisoformat(str(time)).timestamp())
        except (ValueError, OverflowError):
            continue  # absent, or Go's zero time
    newest = max(seconds, default=0.0)
    return newest if newest > 0 else None
