"""Results as Parquet, for pandas, DuckDB and the like."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from testbed.arena.case import CaseResult
from testbed.arena.judging.summary import records


def write_parquet(results: Sequence[CaseResult], runs_file: Path, series_file: Path) -> bool:
    """Write one row for each run, and one for each sample of the series that were kept.

    Parameters
    ----------
    results
        Of one experiment.
    runs_file
        Columns: as `testbed.arena.judging.summary.records`.
    series_file
        Columns: policy, workload, variant, seed, and those of the series. Not written where no series was kept.

    Returns
    -------
    bool
        False where nothing was written because pyarrow is not installed.
    """
    if find_spec("pyarrow") is None:
        return False
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(records(results)), runs_file)
    courses = [_course(pyarrow, result) for result in results if result.series]
    if courses:
        parquet.write_table(pyarrow.concat_tables(courses, promote_options="permissive"), series_file)
    return True


def _course(pyarrow: ModuleType, result: CaseResult) -> Any:
    """Return the series of a run as a table, the case repeated in each row."""
    length = len(next(iter(result.series.values())))
    case = {
        "policy": [result.case.policy] * length,
        "workload": [result.case.workload] * length,
        "variant": [result.case.variant] * length,
        "seed": [result.case.seed] * length,
    }
    return pyarrow.table({**case, **result.series})
