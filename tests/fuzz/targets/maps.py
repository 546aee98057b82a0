"""Latency maps: every form that import reads, and what is asked of a map once it is read."""

import gzip
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path

from json_maps import LISTS, PROGRAMS

from fuzz.target import TESTS, Form, Target, files
from latency_map import (
    DEFAULT_OPTIONS,
    Asymmetry,
    DelayKind,
    DelayUnit,
    ImportOptions,
    LatencyMapError,
    Survey,
    min_nd_max_subset,
    parse_survey,
    rank_by_distance,
    read_survey,
)
from latency_map.document import survey_to_document
from latency_map.quality.check import check
from latency_map.summary import summarise

NOW_S = 1_700_000_000.0
_MAPS = TESTS / "data" / "latency_maps"
_FEW_NODES = 12


def use_survey(survey: Survey) -> None:
    """Do what commands do with a survey: judge it, write it, read it back, choose nodes by its map."""
    check(survey, NOW_S)
    summarise(survey)
    parse_survey(survey_to_document(survey))
    latencies = survey.to_map(Asymmetry.MAX)
    rank_by_distance(latencies, latencies.names[:1], latencies.names[1:])
    if 2 <= len(latencies.names) <= _FEW_NODES:
        min_nd_max_subset(latencies, 2)


def _read(options: ImportOptions) -> Callable[[bytes, Path], object]:
    def call(data: bytes, folder: Path) -> None:
        del folder
        imported = None
        for stated in ({}, {"kind": DelayKind.RTT}):  # as a user states what the file does not
            with suppress(LatencyMapError):
                imported = imported or read_survey(BytesIO(data), options=options, **stated)
        imported = imported or read_survey(BytesIO(data), unit=DelayUnit.MS, kind=DelayKind.RTT, options=options)
        use_survey(imported.survey)

    return call


def _zipped(read: Callable[[], Sequence[bytes]]) -> Callable[[], Sequence[bytes]]:
    return lambda: [gzip.compress(content, mtime=0) for content in read()]


def _target(name: str, *patterns: str, form: Form = Form.TEXT, options: ImportOptions = DEFAULT_OPTIONS) -> Target:
    return Target(name=f"map-{name}", form=form, samples=files(*patterns, under=_MAPS), call=_read(options))


TARGETS = (
    _target("matrix", "cloud_regions.csv", "planetlab_12x12.tsv", "../../../testbed/topologies/*.csv"),
    _target("pairs", "edges.csv", "king_edges.txt", "wondernetwork_pings.csv"),
    _target("ping", "ping_*.txt", options=ImportOptions(probed_from="here")),
    _target("fping", "fping_*.txt", options=ImportOptions(probed_from="here")),
    _target("document", "document_v1.json", form=Form.JSON),
    *(
        Target(name=f"map-json-{name}", form=Form.JSON, samples=samples, call=_read(DEFAULT_OPTIONS))
        for name, samples in (
            (
                "programs",
                lambda: [text.encode() for text in PROGRAMS.values() if "\n" not in text and "probe_" not in text],
            ),
            ("lists", lambda: [text.encode() for text in LISTS]),
        )
    ),
    _target("gml", "shadow.gml"),
    _target("graphml", "topology.graphml"),
    Target(
        name="map-gzip",
        form=Form.GZIP,
        samples=_zipped(files("edges.csv", "cloud_regions.csv", "shadow.gml", under=_MAPS)),
        call=_read(DEFAULT_OPTIONS),
    ),
)
