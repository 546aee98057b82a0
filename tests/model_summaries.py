"""Summaries of models, for tests of reports."""

from dataclasses import replace

from perfmodel import LawSummary, ModelSummary, ParameterEstimate

UNITS = {"alpha": "rows/s", "beta": "1", "gamma": "rows/s per ms"}


def eq1_summary(
    *,
    alpha: float = 2000.0,
    beta: float = 0.9,
    gamma: float = 3.0,
    law: str = "eq1",
    fitted: bool = True,
    held_out_error_pct: float | None = 4.0,
    conditions: int = 3,
    readings: int = 5,
    warnings: tuple[str, ...] = (),
) -> ModelSummary:
    """Return the summary of a model that uses Eq. 1, or another law with the same parameters."""
    values = {"alpha": alpha, "beta": beta, "gamma": gamma}
    parameters = tuple(
        ParameterEstimate(name=name, unit=UNITS[name], value=value, low=0.9 * value, high=1.1 * value, identified=True)
        for name, value in values.items()
    )
    summary = LawSummary(
        law=law, parameters=parameters, held_out_error_pct=held_out_error_pct, conditions=conditions, readings=readings
    )
    return ModelSummary(
        law=law, laws=(summary,), fitted=fitted, held_out_error_pct=held_out_error_pct, warnings=warnings
    )


def both_laws(*, fitted: bool = True, held_out_error_pct: float | None = 4.0, conditions: int = 3) -> ModelSummary:
    """Return the summary of a model that uses the batch-time law, and whose Eq. 1 errs by 9 %."""
    eq1 = replace(eq1_summary().laws[0], held_out_error_pct=9.0)
    batch_time = LawSummary(
        law="batch-time",
        parameters=(
            ParameterEstimate(name="row_s", unit="s", value=0.005, low=0.0048, high=0.0052, identified=True),
            ParameterEstimate(name="pair_trips", unit="1", value=2.0, low=0.0, high=6.0, identified=False),
        ),
        held_out_error_pct=held_out_error_pct,
        conditions=conditions,
        readings=120,
    )
    return ModelSummary(law="batch-time", laws=(eq1, batch_time), fitted=fitted, held_out_error_pct=held_out_error_pct)
