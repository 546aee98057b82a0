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
_NAMES = {str, int}


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
    unit, kind = _meaning(source, table, reader)
    directed = table.holder.get("directed")
    graph = table.key.lower() in LINKS or directed is not None
    times = [parse_time(head.get(key)) for head in _heads(table) for key in TIMES if not graph]
    names, name_of, notes, warnings = _nodes(source, table, reader, ids_only=ids_only)
    every = _samples(source, table, reader, min((at_s for at_s in times if at_s is not None), default=None), name_of)
    return Readings(
        samples=[_of_link(sample) if graph else sample for sample in every],
        unit=unit,
        kind=kind,
        stated_at=f"the key {table.labels[reader.columns.delay]!r}",
        graph=graph,
        directed=_truth(source, directed),
        names=names,
        notes=[*notes, *reader.notes()],
        warnings=warnings,
    )


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
    units, kinds = ({each for each in found if each} for found in zip(*stated, strict=True))
    if len(units) > 1 or len(kinds) > 1:
        place = ".".join(table.path)
        raise LatencyMapError("map-units-contradict", source=source, place=place, units=sorted(map(str, units | kinds)))
    return next((DelayUnit(each) for each in units), None), next((DelayKind(each) for each in kinds), None)


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


def _nodes(
    source: str, table: ObjectList, reader: RowReader, *, ids_only: bool
) -> tuple[tuple[str, ...], Mapping[str, str] | None, list[Problem], list[Problem]]:
    """Return the names of the listed nodes, the node that each end stands for, notes and doubts.

    There are none if no nodes are listed.
    """
    listed: dict[str, Object] = {}
    for key, value in table.holder.items():
        if key.lower() in NODES and isinstance(value, list | dict):
            for name, attributes in (_node(each) for each in value):
                if name in listed:
                    raise LatencyMapError("map-node-duplicate", source=source, place=key, name=name)
                listed |= {name: attributes} if name else {}
    if not listed:
        return (), None, [], []
    names, notes = _name_nodes(list(listed.items()))
    ends = {str(row.get(table.labels[at])) for row in table.rows for at in reader.columns[:2]}
    positions = {str(position): name for position, name in enumerate(names)}
    if ends <= listed.keys():
        other = [positions.get(each) for each in listed] != list(names)
        doubts = [Problem("map-ends-doubtful")] if other and not ids_only and ends <= positions.keys() else []
        return names, dict(zip(listed, names, strict=True)), notes, doubts
    if ends <= set(names):
        return names, {name: name for name in names}, notes, []
    if ends <= positions.keys() and not any(each.isdigit() for each in listed):
        return names, positions, [*notes, Problem("import-ends-numbered")], []
    unknown = sorted(ends - listed.keys() - set(names))
    raise LatencyMapError("map-ends-unknown", source=source, ends=unknown, nodes=names)


def _of_link(sample: DelaySample) -> DelaySample:
    """Return a sample without a loss that is not total: it is a property of the link, as in Shadow and Mininet."""
    return sample if sample.loss_ratio is None or sample.loss_ratio >= 1 else sample._replace(loss_ratio=None)


def _name_nodes(nodes: Sequence[tuple[str, Mapping[str, object]]]) -> tuple[tuple[str, ...], list[Problem]]:
    """Return the names of nodes with ids and attributes: label or name if each node has another one, else the ids."""
    notes: list[Problem] = []
    for key in ("label", "name"):
        found = [str(attributes.get(key) or "").strip() for _, attributes in nodes]
        if nodes and all(found) and len(set(found)) == len(found):
            return tuple(found), notes
        if any(found):
            notes.append(Problem("import-labels-dropped", {"key": key}))
    return tuple(node.strip() for node, _ in nodes), notes


def _node(content: Json) -> tuple[str, Object]:
    """Return the id and the attributes of a listed node; the id is blank if it has none."""
    if not isinstance(content, dict):
        return str(content), {}
    node = flat(content)
    keys = ["id", *(key for key in node if set(words_of(key)) <= _ID)]
    return next((str(node[key]) for key in keys if isinstance(node.get(key), str | int)), ""), node


def _samples(
    source: str, table: ObjectList, reader: RowReader, at_s: float | None, name_of: Mapping[str, str] | None
) -> Iterator[DelaySample]:
    """Return the samples of a list; a delay that is a list of numbers is several samples."""
    start, end, delay = reader.columns[:3]
    where = ".".join(table.path) or "entry"
    for number, row in enumerate(table.rows, 1):
        place = f"{where} {number}"
        cells: list[Json] = [row.get(label) for label in table.labels]
        a, b = cells[start], cells[end]
        if type(a) not in _NAMES or type(b) not in _NAMES:
            fields = {"expected": "the names of two nodes", "got": f"{kind_of(a)} and {kind_of(b)}"}
            raise LatencyMapError("map-value-invalid", source=source, place=place, **fields)
        a, b = (str(a), str(b)) if name_of is None else (name_of[str(a)], name_of[str(b)])
        values = cells[delay]
        for value in values if isinstance(values, list) else [values]:
            cells[delay] = value
            sample = reader.sample(a, b, cells, place)
            yield sample if sample.at_s is not None or at_s is None else sample._replace(at_s=at_s)


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
