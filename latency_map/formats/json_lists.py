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
from latency_map.formats.graphs import name_nodes
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
    labels: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.labels = list(dict.fromkeys(key for row in self.rows for key in row))

    @property
    def key(self) -> str:
        return self.path[-1] if self.path else ""


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
    facts = _Facts(source.name, table, reader)
    names, name_of, notes, warnings = _nodes(source.name, table, reader)
    samples = list(_samples(source.name, table, reader, facts.at_s, name_of))
    label = table.labels[reader.columns.delay]
    return Readings(
        samples=samples,
        unit=facts.unit,
        kind=facts.kind,
        stated_at=f"the key {label!r}",
        graph=facts.graph,
        directed=facts.directed,
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
    if len(lists) == len(lists[0]) and all(_is_figure(cell) for each in lists for cell in each):
        return []  # a matrix without names
    head = [each for each in lists[0] if isinstance(each, str)]
    if len(head) == len(lists[0]) and has_columns(head) and any(map(is_delay_label, head)):
        return [dict(zip(head, each, strict=True)) for each in lists[1:]]
    return [_flat({"source": a, "target": b, "delay": rest[0]}) for a, b, *rest in lists if len(rest) == 1]


def _matrix(content: list[Json], holder: Object) -> list[Object]:
    """Return the rows of a matrix beside which the names of its nodes are listed once; none if it is no matrix."""
    lists = [tuple(map(str, each)) for each in holder.values() if isinstance(each, list) and len(each) == len(content)]
    names = {each for each in lists if len(set(each)) == len(each)} - {tuple(map(str, content))}
    if len(names) != 1 or not all(isinstance(row, list) and len(row) == len(content) for row in content):
        return []
    (nodes,) = names
    rows = [row for row in content if isinstance(row, list)]
    return [
        {"source": a, "target": b, "delay": cell}
        for a, row in zip(nodes, rows, strict=True)
        for b, cell in zip(nodes, row, strict=True)
    ]


def _is_figure(content: Json) -> bool:
    return content is None or (isinstance(content, int | float) and not isinstance(content, bool))


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
    if not keys & inner.keys() or any(isinstance(value, list) for value in content.values()):
        return []
    rows: list[dict[str, Json]] = []
    for a, row in inner.items():
        for b, cell in row.items():
            rows.append({"source": a, "target": b})
            if cell is not None:
                rows[-1]["delay"] = cell
    return [] if any(isinstance(row.get("delay"), list) for row in rows) else [_flat(row) for row in rows]


class _Facts:
    """What the objects that hold a list state for all of its members."""

    def __init__(self, source: str, table: _Table, reader: RowReader) -> None:
        heads = [head for holder in table.holders for key in _HEAD if isinstance(head := holder.get(key), dict)]
        holders: list[Object] = [*table.holders, *heads]
        units: set[DelayUnit | None] = {reader.unit}
        kinds: set[DelayKind | None] = {reader.kind}
        for label in [key for key in table.path if is_delay_label(key)]:
            units.add(parse_label(label)[0])
            kinds.add(parse_label(label)[1])
        for holder in holders:
            for key, value in holder.items():
                words = set(words_of(key))
                if words & {"unit", "units"}:
                    units.add(unit_of(value, source, key))
                elif words <= {"kind", "direction", "metric", "type"} and isinstance(value, str):
                    units.add(parse_label(value)[0])
                    kinds.add(parse_label(value)[1])
        if len(units - {None}) > 1 or len(kinds - {None}) > 1:
            stated = sorted(str(each) for each in (units | kinds) - {None})
            raise LatencyMapError("map-units-contradict", source=source, place=".".join(table.path), units=stated)
        self.unit = next((each for each in units if each), None)
        self.kind = next((each for each in kinds if each), None)
        holder = table.holders[-1] if table.holders else {}
        self.directed = _truth(source, holder.get("directed"))
        self.graph = table.key.lower() in _LINKS or "directed" in holder
        times = [holder[key] for holder in holders for key in _TIMES if key in holder]
        self.at_s = parse_time(times[0]) if times and not self.graph else None


def _truth(source: str, value: Json) -> bool:
    text = str(value).lower()
    if text in ("true", "1", "yes") or text in ("false", "0", "no", "none"):
        return text in ("true", "1", "yes")
    raise LatencyMapError(
        "map-value-invalid", source=source, place="directed", expected="true or false", got=kind_of(value)
    )


def _nodes(
    source: str, table: _Table, reader: RowReader
) -> tuple[tuple[str, ...], Mapping[str, str] | None, list[Problem], list[Problem]]:
    """Return the names of the listed nodes, the node that each end stands for, notes and doubts.

    There are none if no nodes are listed.
    """
    holder = table.holders[-1] if table.holders else {}
    listed: dict[str, Object] = {}
    for key, value in holder.items():
        if key.lower() in _NODES and isinstance(value, list | dict):
            members: list[Json] = value if isinstance(value, list) else list(value)
            listed |= {name: attributes for each in members for name, attributes in _node(each)}
    if not listed:
        return (), None, [], []
    names, notes = name_nodes(list(listed.items()))
    ends = {str(row.get(table.labels[at])) for row in table.rows for at in reader.columns[:2]}
    positions = {str(position): name for position, name in enumerate(names)}
    if ends <= listed.keys():
        doubtful = ends <= positions.keys() and any(
            positions.get(end) != name for end, name in zip(listed, names, strict=True)
        )
        doubts = [Problem("map-ends-doubtful")] if doubtful else []
        return names, dict(zip(listed, names, strict=True)), notes, doubts
    if ends <= set(names):
        return names, {name: name for name in names}, notes, []
    if ends <= positions.keys() and not any(each.isdigit() for each in listed):
        return names, positions, [*notes, Problem("import-ends-numbered")], []
    unknown = sorted(ends - listed.keys() - set(names))
    raise LatencyMapError("map-ends-unknown", source=source, ends=unknown, nodes=names)


def _node(content: Json) -> Iterator[tuple[str, Object]]:
    """Return the id and the attributes of a listed node; nothing if it has no id."""
    if isinstance(content, dict):
        flat = _flat(content)
        keys = ["id", *(key for key in flat if set(words_of(key)) <= _ID)]
        key = next((key for key in keys if isinstance(flat.get(key), str | int)), None)
        if key is not None:
            yield str(flat[key]), flat
    elif isinstance(content, str | int):
        yield str(content), {}


def _samples(
    source: str, table: _Table, reader: RowReader, at_s: float | None, name_of: Mapping[str, str] | None
) -> Iterator[DelaySample]:
    """Return the samples of a list; a delay that is a list of numbers is several samples."""
    positions = reader.columns.source, reader.columns.target
    delay = reader.columns.delay
    for number, row in enumerate(table.rows, 1):
        place = f"{'.'.join(table.path) or 'entry'} {number}"
        cells: list[Json] = [row.get(label) for label in table.labels]
        ends = []
        for at in positions:
            end = cells[at]
            if isinstance(end, bool) or not isinstance(end, str | int):
                fields = {"expected": "the name of a node", "got": kind_of(end)}
                raise LatencyMapError(
                    "map-value-invalid", source=source, place=f"{place}, {table.labels[at]}", **fields
                )
            ends.append(str(end) if name_of is None else name_of[str(end)])
        values = cells[delay]
        for value in values if isinstance(values, list) else [values]:
            cells[delay] = value
            sample = reader.sample(ends[0], ends[1], cells, place)
            yield sample if sample.at_s is not None or at_s is None else sample._replace(at_s=at_s)
