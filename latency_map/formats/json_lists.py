"""Delays in JSON: lists of links or samples, graphs of nodes and links, and objects by node.

Read are a list of objects such as ``{"source": "a", "target": "b", "latency": "5 ms"}``, or of lists ``["a", "b", 5]``,
at the root or under any one key, with or without a list of nodes, and objects such as ``{"a": {"b": 5}}``. Keys are
found as the columns of a table are; those of an object inside an object have its key in front, such as ``rtt.avg``.
"""

from collections.abc import Iterator
from dataclasses import replace

from latency_map.errors import LatencyMapError
from latency_map.formats.columns import find_columns, has_columns, is_delay_label, is_other_figure, rank_of, words_of
from latency_map.formats.foreign import json_looks_like
from latency_map.formats.json_programs import program_of
from latency_map.formats.json_table import HEADS, NODES, TIMES, Object, ObjectList, flat, read_list
from latency_map.formats.json_text import Json, kind_of
from latency_map.formats.samples import Readings
from latency_map.formats.source import ImportOptions, MapSource

_DEPTH = 4


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
    program = program_of(content)
    if options.probed_from is not None and (program is None or program.name != "Prometheus"):
        fields = {"option": "--source", "format": "JSON", "formats": ["ping", "fping", "answers of Prometheus"]}
        raise LatencyMapError("map-option-inapplicable", source=source.name, **fields)
    if program:
        return program.read(source, content, options)
    if options.delay_column is None and (found := json_looks_like(content)):
        raise LatencyMapError("map-format-unknown", source=source.name, looks_like=found)
    table = _only_table(source.name, content, options)
    if table.key == options.delay_column:
        options = replace(options, delay_column=None)
    return read_list(source.name, table, options)


def _only_table(source: str, content: Json, options: ImportOptions) -> ObjectList:
    """Return the list of delays in the content."""
    ends = {options.from_column, options.to_column}
    tables = [table for table in _tables(content, (), ()) if has_columns(table.labels) or ends <= set(table.labels)]
    tables = [table for table in tables if table.key == options.delay_column] or tables
    if len(tables) == 1:
        if (other := _other_figure(tables[0])) and other != options.delay_column:
            raise LatencyMapError("map-column-doubtful", source=source, found=[other])
        return tables[0]
    if tables:
        found = [".".join(table.path) for table in tables]
        raise LatencyMapError("map-lists-ambiguous", source=source, found=found)
    listed = [table for table in _tables(content, (), ()) if table.labels]
    if len(listed) == 1:
        find_columns(source, listed[0].labels, options)  # names the missing column
    raise LatencyMapError("map-format-unknown", source=source, looks_like=f"JSON: {kind_of(content)}")


def _other_figure(table: ObjectList) -> str:
    """Return the key of a list of another figure whose objects do not name their delay; "" if it is of delays."""
    named = any(rank_of(label) == "delay" for label in table.labels if label != "delay")
    return "" if named else next(filter(is_other_figure, table.path), "")


def _tables(content: Json, path: tuple[str, ...], holders: tuple[Object, ...]) -> Iterator[ObjectList]:
    """Return all lists of objects or of lists that are not empty, and all objects of delays by node."""
    if isinstance(content, list):
        holder = holders[-1] if holders else {}
        headings = [value for value in holder.values() if isinstance(value, list) and _is_heading(value)]
        rows = _rows([*headings, *content]) if headings else []
        rows = rows or _matrix(content, holder) or _rows(content)
        if rows and not set(words_of(path[-1] if path else "")) & NODES:
            yield ObjectList(path, holders, rows)
    elif isinstance(content, dict) and len(path) < _DEPTH:
        nested = _nested(content)
        if nested:
            yield ObjectList(path, (*holders, content), nested)
            return
        for key, value in content.items():
            yield from _tables(value, (*path, key), (*holders, content))


def _rows(content: list[Json]) -> list[Object]:
    """Return the members of a list as flat objects; none if they are no objects, nor like ["a", "b", 5]."""
    objects = [flat(each) for each in content if isinstance(each, dict)]
    if len(objects) == len(content):
        return objects
    lists = [each for each in content if isinstance(each, list)]
    if len(lists) < len(content) or not all(len(each) == len(lists[0]) >= 3 for each in lists):
        return []
    if len(lists) == len(lists[0]) and not any(isinstance(cell, str | dict) for each in lists for cell in each):
        return []  # a matrix without names
    if _is_heading(lists[0]):
        return [dict(zip(map(str, lists[0]), each, strict=True)) for each in lists[1:]]
    return [flat({"source": a, "target": b, "delay": rest[0]}) for a, b, *rest in lists if len(rest) == 1]


def _is_heading(content: list[Json]) -> bool:
    """Return whether a list has labels of the ends of a pair and of a delay."""
    labels = [each for each in content if isinstance(each, str)]
    return len(labels) == len(content) and has_columns(labels) and any(map(rank_of, labels))


def _matrix(content: list[Json], holder: Object) -> list[Object]:
    """Return the rows of a matrix whose holder lists the names of its nodes once; none if it is no matrix."""
    rows = [row for row in content if isinstance(row, list) and len(row) == len(content)]
    lists = [value for value in holder.values() if isinstance(value, list) and len(value) == len(content)]
    names = {tuple(map(str, each)) for each in lists if not any(isinstance(name, list | dict) for name in each)}
    if len(names) != 1 or len(rows) < len(content):
        return []
    (nodes,) = names
    cells = [(a, b, rows[at][to]) for at, a in enumerate(nodes) for to, b in enumerate(nodes)]
    return [{"source": a, "target": b, "delay": cell} for a, b, cell in cells]


def _nested(content: Object) -> list[Object]:
    """Return the rows of an object such as ``{"a": {"b": 5}}``; none if it is another one."""
    inner = {key: value for key, value in content.items() if isinstance(value, dict) and key not in HEADS}
    keys = {key for value in inner.values() for key in value}
    others = [value for key, value in content.items() if key not in (*inner, *HEADS, *TIMES)]
    figures = any(is_delay_label(key) or is_other_figure(key) for key in keys - inner.keys())
    if figures or not keys & inner.keys() or not all(isinstance(value, str) for value in others):
        return []
    cells = [(a, b, cell) for a, row in inner.items() for b, cell in row.items()]
    return [flat({"source": a, "target": b} | ({} if cell is None else {"delay": cell})) for a, b, cell in cells]
