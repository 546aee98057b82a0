"""A list of objects with delays, as JSON and graphs have it: its nodes, its meaning and its samples."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gesscale.common.errors import Problem
from latency_map.errors import LatencyMapError
from latency_map.formats.columns import find_columns, is_delay_label, parse_label, word_set, words_of
from latency_map.formats.json_text import Json, kind_of
from latency_map.formats.rows import RowReader, parse_time, unit_of
from latency_map.formats.samples import DelaySample, Readings
from latency_map.formats.source import ImportOptions
from latency_map.kinds import DelayKind, DelayUnit

#: Keys of lists of links and of nodes, of the id of a node, of objects with facts on a whole list, and of its time.
LINKS = {"links", "link", "edges", "edge", "connections", "arcs"}
NODES = {"nodes", "node", "vertices", "machines", "machine", "hosts", "switches", "routers", "devices"}
_ID = {"id", "name", "key", "label", "hostname", "host"} | NODES
HEADS = ("metadata", "meta", "info", "header", "graph")
TIMES = word_set(
    "timestamp ts time datetime date measured_at collected_at generated_at updated_at created_at updated generated"
    " last_updated updatedAt createdAt generatedAt"
)
Object = Mapping[str, Json]


@dataclass(slots=True)
class ObjectList:
    """A list of objects, each with the delay of a pair."""

    #: Keys that lead to it, with those of the objects that hold it.
    path: tuple[str, ...]
    holders: tuple[Object, ...]
    rows: Sequence[Object]
    labels: list[str] = field(init=False)
    #: Last key, blank at the root, and last holder.
    key: str = field(init=False)
    holder: Object = field(init=False)

    def __post_init__(self) -> None:
        self.labels = list(dict.fromkeys(key for row in self.rows for key in row))
        self.key = self.path[-1] if self.path else ""
        self.holder = self.holders[-1] if self.holders else {}


def read_list(source: str, table: ObjectList, options: ImportOptions, *, ids_only: bool = False) -> Readings:
    """Return the delays of a list; ``ids_only`` if its ends are ids of nodes, never their positions.

    Raises
    ------
    LatencyMapError
        A value is invalid, or contradicts another one.
    """
    reader = RowReader(source, table.labels, find_columns(source, table.labels, options))
    readings = Readings(samples=(), stated_at=f"the key {table.labels[reader.columns.delay]!r}")
    readings.unit, readings.kind = _meaning(source, table, reader)
    directed = table.holder.get("directed")
    readings.graph = table.key.lower() in LINKS or directed is not None
    readings.directed = _truth(source, directed)
    name_of = _names_of(source, table, reader, readings, ids_only=ids_only)
    readings.samples = list(_samples(source, table, reader, name_of, graph=readings.graph))
    readings.notes += reader.notes()
    return readings


def _meaning(source: str, table: ObjectList, reader: RowReader) -> tuple[DelayUnit | None, DelayKind | None]:
    """Return unit and direction, as the key of the delay and the objects that hold the list state them."""
    stated = [(reader.unit, reader.kind), *(parse_label(key) for key in table.path if is_delay_label(key))]
    for holder in _heads(table):
        for key, value in holder.items():
            words = set(words_of(key))
            if words & {"unit", "units"}:
                stated.append((unit_of(value, source, key), None))
            elif words <= {"kind", "direction", "metric", "type"} and isinstance(value, str):
                stated.append(parse_label(value))
    units, kinds = {unit for unit, _ in stated if unit}, {kind for _, kind in stated if kind}
    if len(units) > 1 or len(kinds) > 1:
        fields = {"place": ".".join(table.path), "units": sorted(map(str, [*units, *kinds]))}
        raise LatencyMapError("map-units-contradict", source=source, **fields)
    return next(iter(units), None), next(iter(kinds), None)


def _heads(table: ObjectList) -> list[Object]:
    """Return the objects that hold a list, and their members with facts on all of it."""
    heads = [holder.get(key) for holder in table.holders for key in HEADS]
    return [*table.holders, *(each for each in heads if isinstance(each, dict))]


def _truth(source: str, value: Json) -> bool:
    text = str(value).lower()
    if text not in ("true", "1", "yes", "false", "0", "no", "none"):
        fields = {"place": "directed", "expected": "true or false", "got": kind_of(value)}
        raise LatencyMapError("map-value-invalid", source=source, **fields)
    return text in ("true", "1", "yes")


def _names_of(
    source: str, table: ObjectList, reader: RowReader, readings: Readings, *, ids_only: bool
) -> Mapping[str, str] | None:
    """Return the node that each end stands for, None if no nodes are listed; add names, notes and doubts."""
    listed: dict[str, Object] = {}
    for key, value in table.holder.items():
        if key.lower() in NODES and isinstance(value, list | dict):
            for name, attributes in map(_node, value):
                if name in listed:
                    raise LatencyMapError("map-node-duplicate", source=source, place=key, name=name)
                listed |= {name: attributes} if name else {}
    if not listed:
        return None
    names = readings.names = _name_nodes(listed, readings.notes)
    ends = {str(row.get(table.labels[at])) for row in table.rows for at in reader.columns[:2]}
    positions = {str(position): name for position, name in enumerate(names)}
    if ends <= listed.keys():
        if not ids_only and ends <= positions.keys() and [positions.get(each) for each in listed] != list(names):
            readings.warnings.append(Problem("map-ends-doubtful"))
        return dict(zip(listed, names, strict=True))
    if ends <= set(names):
        return dict(zip(names, names, strict=True))
    if ends <= positions.keys() and not any(each.isdigit() for each in listed):
        readings.notes.append(Problem("import-ends-numbered"))
        return positions
    unknown = sorted(ends - listed.keys() - set(names))
    raise LatencyMapError("map-ends-unknown", source=source, ends=unknown, nodes=names)


def _name_nodes(nodes: Mapping[str, Object], notes: list[Problem]) -> tuple[str, ...]:
    """Return the names of nodes with ids and attributes: label or name if each node has another one, else the ids."""
    for key in ("label", "name"):
        found = [str(attributes.get(key) or "").strip() for attributes in nodes.values()]
        if all(found) and len(set(found)) == len(found):
            return tuple(found)
        if any(found):
            notes.append(Problem("import-labels-dropped", {"key": key}))
    return tuple(map(str.strip, nodes))


def _node(content: Json) -> tuple[str, Object]:
    """Return the id and the attributes of a listed node; the id is blank if it has none."""
    if not isinstance(content, dict):
        return str(content), {}
    node = flat(content)
    keys = ["id", *(key for key in node if set(words_of(key)) <= _ID)]
    return next((str(node[key]) for key in keys if isinstance(node.get(key), str | int)), ""), node


def _samples(
    source: str, table: ObjectList, reader: RowReader, name_of: Mapping[str, str] | None, *, graph: bool
) -> Iterator[DelaySample]:
    """Return the samples of a list; a delay that is a list of numbers is several samples."""
    start, end, delay = reader.columns[:3]
    times = [parse_time(head.get(key)) for head in _heads(table) for key in TIMES if not graph]
    oldest_s = min((at_s for at_s in times if at_s is not None), default=None)
    for number, row in enumerate(table.rows, 1):
        place = f"{'.'.join(table.path) or 'entry'} {number}"
        cells: list[Json] = [row.get(label) for label in table.labels]
        a, b = cells[start], cells[end]
        if not {type(a), type(b)} <= {str, int}:
            fields = {"expected": "the names of two nodes", "got": f"{kind_of(a)} and {kind_of(b)}"}
            raise LatencyMapError("map-value-invalid", source=source, place=place, **fields)
        a, b = (str(a), str(b)) if name_of is None else (name_of[str(a)], name_of[str(b)])
        values = cells[delay]
        for cells[delay] in values if isinstance(values, list) else [values]:
            sample = reader.sample(a, b, cells, place)
            if graph and sample.loss_ratio is not None and sample.loss_ratio < 1:  # a property of the link
                sample = sample._replace(loss_ratio=None)
            yield sample if sample.at_s is not None else sample._replace(at_s=oldest_s)


def flat(content: Object) -> Object:
    """Return an object with the members of objects inside it, whose keys get that of the object in front."""
    flat: dict[str, Json] = {}
    for key, value in content.items():
        if isinstance(value, dict):
            inside = {f"{key}.{each}": cell for each, cell in value.items() if not isinstance(cell, dict)}
            flat |= {each.removeprefix("delay.").removeprefix("data."): cell for each, cell in inside.items()}
        else:
            flat[key] = value
    return flat
