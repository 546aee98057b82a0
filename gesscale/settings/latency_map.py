"""Settings of the latency map: its source, its unit and kind, and its maximum age."""

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
    """Round trips between the nodes. Unit and kind of a file are never guessed."""

    CONSTRAINTS: ClassVar[tuple[Constraint, ...]] = (
        Requires(("source", "file"), ("file",), example="latency.csv"),
        RENEWED_IN_TIME,
    )

    source: Literal["file", "agents", "prometheus"] = "file"
    """Source of the map: a file (read again when it changes), the agents of `gesscale latency-map agent`, or the
    Prometheus server that scrapes them. Default: a file needs no other service."""
    file: FilePath | None = None
    """The map, in any format of `gesscale latency-map import`; relative to the settings file. Default: none;
    `source: file` needs one."""
    unit: DelayUnit | None = None
    """Unit of the delays. Default: that of the file; required if the file has none."""
    kind: DelayKind | None = None
    """Round trips or one-way delays. Default: that of the file; required if the file has none."""
    agents: tuple[WebAddress, ...] = ()
    """Addresses of the agents. Default: none; `source: agents` needs these or `agents_dns`."""
    agents_dns: Place | None = None
    """HOST:PORT that resolves to all agents, such as a headless service. Default: none."""
    prometheus_url: WebAddress | None = None
    """The Prometheus server that scrapes the agents. Default: that of `monitor`."""
    max_nodes: int = Field(DEFAULT_NODES, ge=1, le=MAX_NODES)
    """Maximum number of nodes of a map, and of agents. A map takes up to 41 bytes for each pair of nodes. Default: 1000
    nodes, so 41 MB and the memory to parse it."""
    asymmetry: Asymmetry | None = None
    """How to treat a pair whose directions differ. Default: max if the map has a time of measurement, since two pings
    never agree and NDmax must not be underestimated; otherwise refuse, since in a table it may be a typing error."""
    refresh_s: Duration = 300.0
    """Time between two reads of agents or Prometheus; a file is checked in every step. Default: delays change more
    slowly, and reading many agents costs traffic."""
    max_age_s: Duration | None = 86400.0
    """Age from which a map is stale: it removes no replica and yields no evidence; null: never. Default: a day, the
    rhythm of the load on shared links."""

    def limits(self) -> MapLimits:
        """Return the size limit of a map."""
        return MapLimits(nodes=self.max_nodes, setting="latency_map.max_nodes")

    @model_validator(mode="after")
    def _check_agents(self) -> Self:
        if self.source == "agents" and bool(self.agents) == bool(self.agents_dns):
            raise InvalidValueError("agents-ambiguous")
        return self
