"""``gesscale latency-map show``: look at a map."""

from gesscale.cli.latency_map.app import Form, Kind, MapFile, Symmetry, Unit, app, load_survey, plain_errors
from gesscale.cli.output import Output, emit, table
from latency_map import Asymmetry, LatencyMap

MATRIX_SHOWN_UP_TO = 12


@app.command()
def show(
    file: MapFile,
    *,
    unit: Unit = None,
    kind: Kind = None,
    asymmetry: Symmetry = Asymmetry.REFUSE,
    output: Form = Output.TABLE,
) -> None:
    """Show a map as round trips in milliseconds."""
    with plain_errors():
        imported = load_survey(file, unit, kind)
        latencies = imported.survey.to_map(asymmetry)
    missing = latencies.missing()
    document = {
        "form": imported.form,
        "reason": imported.reason,
        "names": latencies.names,
        "rtt_ms": latencies.rtt_ms,
        "missing": missing,
    }
    title = f"{len(latencies)} nodes, round trips in ms, pairs missing: {len(missing)}"
    rows: list[list[object]]
    if len(latencies) <= MATRIX_SHOWN_UP_TO:
        columns = ["", *latencies.names]
        rows = [[a, *(latencies.delay_ms(a, b) for b in latencies.names)] for a in latencies.names]
    else:
        columns = ["node", "nearest", "to nearest", "to farthest", "missing"]
        rows = [_summary(latencies, node) for node in latencies.names]
    emit(document, output, [table(title, columns, rows)])


def _summary(latencies: LatencyMap, node: str) -> list[object]:
    known = sorted(
        (delay, other)
        for other in latencies.names
        if other != node and (delay := latencies.delay_ms(node, other)) is not None
    )
    missing = len(latencies) - 1 - len(known)
    if not known:
        return [node, None, None, None, missing]
    (least, closest), (greatest, _) = known[0], known[-1]
    return [node, closest, least, greatest, missing]
