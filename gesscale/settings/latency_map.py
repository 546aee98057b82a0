"""Settings of the latency map: where it is read, what it means, when it is too old."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from gesscale.common.errors import InvalidValueError
from gesscale.constraints import Ascending, Constraint, Requires
from gesscale.fields import Duration, FilePath, SettingsGroup, WebAddress
from latency_map import Asymmetry, DelayKind, DelayUnit, MapLimits
from latency_map.limits import DEFAULT_NODES
from latency_map.measure.peers import split_host_port
from latency_map.names import MAX_NODES


def _place(value: str) -> str:
    split_host_port(value)
    return value


#: HOST:PORT.
Place = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9._\[\]:-]+$", min_length=1, max_length=320), AfterValidator(_place)
]

RENEWED_IN_TIME = Ascending(
    "refresh_s",
    "max_age_s",
    strict=True,
    why="otherwise a map becomes stale before it is requested again",
    unless=("source", "file"),
)


class LatencyMapSettings(SettingsGroup):
    """How far apart the nodes are; unit and kind of a file are never guessed."""

    CONSTRAINTS: ClassVar[tuple[Constraint, ...]] = (
        Requires(("source", "file"), ("file",), example="latency.csv"),
        RENEWED_IN_TIME,
    )

    source: Literal["file", "agents", "prometheus"] = "file"
    """Where the map is read: a file (again whenever it changes), the agents of `gesscale latency-map agent`, or the
    Prometheus server that scrapes them. Default: a file needs no other service."""
    file: FilePath | None = None
    """The map in any form that `gesscale latency-map import` reads; a relative path in a settings file starts at that
    file. Default: none; `source: file` needs one."""
    unit: DelayUnit | None = None
    """Unit of its delays. Default: what the file says; one that does not say it needs it."""
    kind: DelayKind | None = None
    """Whether they are round trips or one-way delays. Default: as for the unit."""
    agents: tuple[WebAddress, ...] = ()
    """Addresses of the agents. Default: none; `source: agents` needs these or `agents_dns`."""
    agents_dns: Place | None = None
    """HOST:PORT that stands for all agents, such as a headless service. Default: none."""
    prometheus_url: WebAddress | None = None
    """The Prometheus server that scrapes the agents. Default: that of `monitor`."""
    max_nodes: int = Field(DEFAULT_NODES, ge=1, le=MAX_NODES)
    """Most nodes of a map that is read, and most agents that are asked. A map takes up to 41 bytes for each pair of
    nodes. Default: 1000 nodes, so 41 MB and what reading the text takes."""
    asymmetry: Asymmetry | None = None
    """What to do where a pair differs by direction. Default: max where the map says when it was measured, since
    two pings never agree and NDmax must not be taken for less than it is; else refuse, since in a table it may be
    a slip."""
    refresh_s: Duration = 300.0
    """Time after which agents or Prometheus are asked again; a file is looked at in every step. Default: delays
    change more slowly, and asking many agents costs traffic."""
    max_age_s: Duration | None = 86400.0
    """Age from which a map is stale: no replica is removed by it, and no evidence taken under it; null: never.
    Default: a day, the rhythm of the load on shared links."""

    def limits(self) -> MapLimits:
        """Return how large a map may be that is read."""
        return MapLimits(nodes=self.max_nodes, setting="latency_map.max_nodes")

    @model_validator(mode="after")
    def _check_agents(self) -> Self:
        if self.source == "agents" and bool(self.agents) == bool(self.agents_dns):
            raise InvalidValueError("agents-ambiguous")
        return self
