"""Delays in JSON: lists of links or samples, graphs of nodes and links, and objects by node.

Read are a list of objects such as ``{"source": "a", "target": "b", "latency": "5 ms"}``, or of lists ``["a", "b", 5]``,
at the root or under any one key, with or without a list of nodes, and objects such as ``{"a": {"b": 5}}``. Keys are
found as the columns of a table are; those of an object inside an object have its key in front, such as ``rtt.avg``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gesscale.common.errors import Problem
from latency_map.errors import LatencyMapError
from latency_map.formats.columns import find_columns, has_columns, is_delay_label, parse_label, words_of
from latency_map.formats.foreign import json_looks_like
from latency_map.formats.graphs import name_nodes, of_link
from latency_map.formats.json_programs import program_of
from latency_map.formats.json_text import Json, kind_of
from latency_map.formats.rows import RowReader, parse_time, unit_of
from latency_map.formats.samples import DelaySample, Readings
from latency_map.formats.source import ImportOptions, MapSource
from latency_map.kinds import DelayKind, DelayUnit

_LINKS = {"links", "link", "edges", "edge", "connections", "arcs"}
_NODES = {"nodes", "node", "vertices", "machines", "machine", "hosts", "switches", "routers", "devices"}
_ID = {"id", "name", "key", "label", "hostname", "host"} | _NODES
_HEAD = ("metadata", "meta", "info", "header", "graph")
_TIMES = ("timestamp", "measured_at", "time", "datetime", "date", "updated_at", "created_at")
_DEPTH = 4
Object = Mapping[str, Json]


@dataclass(slots=True)
class _Table:
    """A list of delays inside JSON."""

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


def json_reason(content: Json) -> str:
    """Return what JSON is, as evidence for its format."""
    program = program_of(content)
    return f"it is JSON of {program.name}" if program else f"it is JSON, {kind_of(content)}"


def read_json(source: MapSource, options: ImportOptions) -> Readings:
    """Read JSON of any of the forms.

    Raises
    ------
    LatencyMapError
        It has no delays, or more than one list of them, or a value is invalid.
    """
    content = source.json
    if program := program_of(content):
        return program.read(source, content, options)
    if options.delay_column is None and (found := json_looks_like(content)):
        raise LatencyMapError("map-format-unknown", source=source.name, looks_like=found)
    table = _only_table(source.name, content, options)
    if table.key == options.delay_column:
        options = replace(options, delay_column=None)
    reader = RowReader(source.name, table.labels, find_columns(source.name, table.labels, options))
    unit, kind = _meaning(source.name, table, reader)
    directed = table.holder.get("directed")
    graph = table.key.lower() in _LINKS or directed is not None
    times = [] if graph else [head[key] for head in _heads(table) for key in _TIMES if key in head]
    names, name_of, notes, warnings = _nodes(source.name, table, reader)
    every = _samples(source.name, table, reader, parse_time(times[0]) if times else None, name_of)
    samples = [of_link(sample) if graph else sample for sample in every]
    label = table.labels[reader.columns.delay]
    return Readings(
        samples=samples,
        unit=unit,
        kind=kind,
        stated_at=f"the key {label!r}",
        graph=graph,
        directed=_truth(source.name, directed),
        names=names,
        notes=[*notes, *reader.notes()],
        warnings=warnings,
    )


def _only_table(source: str, content: Json, options: ImportOptions) -> _Table:
    """Return the list of delays in the content."""
    ends = {options.from_column, options.to_column}
    tables = [table for table in _tables(content, (), ()) if has_columns(table.labels) or ends <= set(table.labels)]
    tables = [table for table in tables if table.key == options.delay_column] or tables
    if len(tables) == 1:
        return tables[0]
    if tables:
        found = [".".join(table.path) for table in tables]
        raise LatencyMapError("map-lists-ambiguous", source=source, found=found)
    listed = [table for table in _tables(content, (), ()) if table.labels]
    if len(listed) == 1:
        find_columns(source, listed[0].labels, options)  # says what is missing
    raise LatencyMapError("map-format-unknown", source=source, looks_like=f"JSON: {kind_of(content)}")


def _tables(content: Json, path: tuple[str, ...], holders: tuple[Object, ...]) -> Iterator[_Table]:
    """Return all lists of objects or of lists that are not empty, and all objects of delays by node."""
    if isinstance(content, list):
        rows = _matrix(content, holders[-1] if holders else {}) or _rows(content)
        if rows and not set(words_of(path[-1] if path else "")) & _NODES:
            yield _Table(path, holders, rows)
    elif isinstance(content, dict) and len(path) < _DEPTH:
        nested = _nested(content)
        if nested:
            yield _Table(path, (*holders, content), nested)
            return
        for key, value in content.items():
            yield from _tables(value, (*path, key), (*holders, content))


def _rows(content: list[Json]) -> list[Object]:
    """Return the members of a list as flat objects; none if they are no objects or lists."""
    if all(isinstance(each, dict) for each in content):
        return [_flat(each) for each in content if isinstance(each, dict)]
    lists = [each for each in content if isinstance(each, list)]
    if len(lists) < len(content) or not all(len(each) == len(lists[0]) >= 3 for each in lists):
        return []
    if len(lists) == len(lists[0]) and not any(isinstance(cell, str | dict) for each in lists for cell in each):
        return []  # a matrix without names
    head = [each for each in lists[0] if isinstance(each, str)]
    if len(head) == len(lists[0]) and has_columns(head) and any(map(is_delay_label, head)):
        return [dict(zip(head, each, strict=True)) for each in lists[1:]]
    return [_flat({"source": a, "target": b, "delay": rest[0]}) for a, b, *rest in lists if len(rest) == 1]


def _matrix(content: list[Json], holder: Object) -> list[Object]:
    """Return the rows of a matrix beside which the names of its nodes are listed once; none if it is no matrix."""
    rows = [row for row in content if isinstance(row, list) and len(row) == len(content)]
    lists = [value for value in holder.values() if isinstance(value, list) and len(value) == len(content)]
    names = {tuple(map(str, each)) for each in lists if not any(isinstance(name, list | dict) for name in each)}
    if len(names) != 1 or len(rows) < len(content):
        return []
    (nodes,) = names
    cells = [(a, b, rows[at][to]) for at, a in enumerate(nodes) for to, b in enumerate(nodes)]
    return [{"source": a, "target": b, "delay": cell} for a, b, cell in cells]


def _flat(content: Object) -> Object:
    """Return an object with the members of objects inside it, whose keys get that of the object in front."""
    flat: dict[str, Json] = {}
    for key, value in content.items():
        if isinstance(value, dict):
            inside = {f"{key}.{each}": cell for each, cell in value.items() if not isinstance(cell, dict)}
            flat |= {each.removeprefix("delay.").removeprefix("data."): cell for each, cell in inside.items()}
        else:
            flat[key] = value
    return flat


def _nested(content: Object) -> list[Object]:
    """Return the rows of an object such as ``{"a": {"b": 5}}``; none if it is another one."""
    inner = {key: value for key, value in content.items() if isinstance(value, dict) and key not in _HEAD}
    keys = {key for value in inner.values() for key in value}
    others = [value for key, value in content.items() if key not in (*inner, *_HEAD, *_TIMES)]
    if not keys & inner.keys() or not all(isinstance(value, str) for value in others):
        return []
    rows: list[dict[str, Json]] = []
    for a, row in inner.items():
        for b, cell in row.items():
            rows.append({"source": a, "target": b})
            if cell is not None:
                rows[-1]["delay"] = cell
    return [] if any(isinstance(row.get("delay"), list) for row in rows) else [_flat(row) for row in rows]


def _meaning(source: str, table: _Table, reader: RowReader) -> tuple[DelayUnit | None, DelayKind | None]:
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


def _heads(table: _Table) -> list[Object]:
    """Return the objects that hold a list, and those beside it with facts on all of it."""
    beside = [holder.get(key) for holder in table.holders for key in _HEAD]
    return [*table.holders, *(each for each in beside if isinstance(each, dict))]


def _truth(source: str, value: Json) -> bool:
    text = str(value).lower()
    if text not in ("true", "1", "yes", "false", "0", "no", "none"):
        fields = {"place": "directed", "expected": "true or false", "got": kind_of(value)}
        raise LatencyMapError("map-value-invalid", source=source, **fields)
    return text in ("true", "1", "yes")


def _nodes(
    source: str, table: _Table, reader: RowReader
) -> tuple[tuple[str, ...], Mapping[str, str] | None, list[Problem], list[Problem]]:
    """Return the names of the listed nodes, the node that each end stands for, notes and doubts.

    There are none if no nodes are listed.
    """
    listed: dict[str, Object] = {}
    for key, value in table.holder.items():
        if key.lower() in _NODES and isinstance(value, list | dict):
            for name, attributes in (_node(each) for each in value):
                if name in listed:
                    raise LatencyMapError("map-node-duplicate", source=source, place=key, name=name)
                listed |= {name: attributes} if name else {}
    if not listed:
        return (), None, [], []
    names, notes = name_nodes(list(listed.items()))
    ends = {str(row.get(table.labels[at])) for row in table.rows for at in reader.columns[:2]}
    positions = {str(position): name for position, name in enumerate(names)}
    if ends <= listed.keys():
        other = [positions.get(each) for each in listed] != list(names)
        doubts = [Problem("map-ends-doubtful")] if other and ends <= positions.keys() else []
        return names, dict(zip(listed, names, strict=True)), notes, doubts
    if ends <= set(names):
        return names, {name: name for name in names}, notes, []
    if ends <= positions.keys() and not any(each.isdigit() for each in listed):
        return names, positions, [*notes, Problem("import-ends-numbered")], []
    unknown = sorted(ends - listed.keys() - set(names))
    raise LatencyMapError("map-ends-unknown", source=source, ends=unknown, nodes=names)


def _node(content: Json) -> tuple[str, Object]:
    """Return the id and the attributes of a listed node; the id is blank if it has none."""
    if not isinstance(content, dict):
        return str(content), {}
    flat = _flat(content)
    keys = ["id", *(key for key in flat if set(words_of(key)) <= _ID)]
    return next((str(flat[key]) for key in keys if isinstance(flat.get(key), str | int)), ""), flat


def _samples(
    source: str, table: _Table, reader: RowReader, at_s: float | None, name_of: Mapping[str, str] | None
) -> Iterator[DelaySample]:
    """Return the samples of a list; a delay that is a list of numbers is several samples."""
    delay = reader.columns.delay
    for number, row in enumerate(table.rows, 1):
        place = f"{'.'.join(table.path) or 'entry'} {number}"
        cells: list[Json] = [row.get(label) for label in table.labels]
        ends = [cells[column] for column in reader.columns[:2]]
        for end in ends:
            if isinstance(end, bool) or not isinstance(end, str | int):
                fields = {"place": place, "expected": "the name of a node", "got": kind_of(end)}
                raise LatencyMapError("map-value-invalid", source=source, **fields)
        a, b = (str(end) if name_of is None else name_of[str(end)] for end in ends)
        values = cells[delay]
        for value in values if isinstance(values, list) else [values]:
            cells[delay] = value
            sample = reader.sample(a, b, cells, place)
            yield sample if sample.at_s is not None or at_s is None else sample._replace(at_s=at_s)
