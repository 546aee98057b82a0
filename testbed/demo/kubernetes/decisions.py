"""What the controller of the demo decided, as its API tells it; the last part of the demo's record."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import yaml

from gesscale.errors import ClusterError
from gesscale.monitor.record_files import DECISIONS, SETTINGS
from latency_map.formats.yaml_text import parse_yaml
from latency_map.measure.fetch import ANYWHERE, FetchError
from testbed.cluster.topology import Topology
from testbed.demo.scenario import Scenario

_TIMEOUT_S = 10.0
_MOST_BYTES = 16 << 20


def read_decisions(url: str) -> list[dict[str, Any]]:
    """Read all decisions that a scaler still keeps.

    Parameters
    ----------
    url
        Of its page; see `docs/howto/page.md`.

    Returns
    -------
    list of dict
        As `gesscale.model.document.decision_document` writes them, oldest first.

    Raises
    ------
    ClusterError
        It does not answer, or not as expected.
    """
    found = []
    for workflow in _asked(url, "run")["workflows"]:
        for point in _asked(url, "points", workflow=workflow["name"])["points"]:
            which = {"workflow": workflow["name"], "operator": point["operator"], "at_s": point["at_s"]}
            if (decision := _asked(url, "decision", **which)) is not None:
                found.append(decision)
    return sorted(found, key=lambda each: float(each["at_s"]))


def write_decisions(
    decisions: Sequence[Mapping[str, Any]],
    scenario: Scenario,
    topology: Topology,
    driver_node: str,
    folder: Path,
) -> None:
    """Write what makes the demo's folder a record: the decisions, and the settings of a loop on its own.

    Parameters
    ----------
    decisions
        As documents.
    scenario, topology
        What was played, and on which nodes.
    driver_node
        The node of the drivers' pods.
    folder
        Holds the batches and the latency map already.
    """
    settings = parse_yaml(scenario.settings(topology), "the settings of the demo")
    for operator in settings["workflow"]["operators"].values():
        operator["driver_node"] = driver_node
    settings["execute"] = {"mode": "recommend"}
    (folder / SETTINGS).write_text(yaml.safe_dump(settings, sort_keys=False))
    (folder / DECISIONS).write_text("".join(json.dumps(each) + "\n" for each in decisions))


def _asked(url: str, what: str, **parameters: object) -> Any:
    address = f"{url}/api/{what}?{urlencode(parameters)}"
    try:
        return json.loads(ANYWHERE.fetch(address, timeout_s=_TIMEOUT_S, max_bytes=_MOST_BYTES))
    except (FetchError, ValueError) as error:
        message = f"asked the controller's page {address}, but {error}; see controller.log"
        raise ClusterError(message) from error
