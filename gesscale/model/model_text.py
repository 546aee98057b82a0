"""The model of an operator in words: why it counts as fitted or not, and a line for each law."""

from enum import StrEnum

from gesscale.formatting import format_figure
from perfmodel import BATCH_TIME, Estimate, LawSummary, ModelSummary, ParameterEstimate
from perfmodel.summary import MAX_HELD_OUT_ERROR_PCT, MIN_CONDITIONS


class FitReason(StrEnum):
    """Reason why a model counts as fitted or not."""

    PREDICTS_HELD_OUT = "PredictsHeldOut"
    PREDICTS_PRESENT = "PredictsPresent"
    NO_EVIDENCE = "NoEvidence"
    ONE_PLACEMENT = "OnePlacement"
    ERROR_HIGH = "ErrorHigh"


_TRUSTED = {FitReason.PREDICTS_HELD_OUT, FitReason.PREDICTS_PRESENT}
#: With one placement: the widest interval of its MST, per cent, and the fewest batches; the prior alone gives 18 %.
MAX_INTERVAL_PCT, MIN_BATCHES = 20.0, 10


def fit_reason(model: ModelSummary | None) -> FitReason:
    """Return why a model counts as fitted or not; None is a model without evidence."""
    if model is None or not model.in_use.readings:
        return FitReason.NO_EVIDENCE
    if model.fitted:
        return FitReason.PREDICTS_HELD_OUT
    return FitReason.ONE_PLACEMENT if model.in_use.conditions < MIN_CONDITIONS else FitReason.ERROR_HIGH


def fit_sentence(model: ModelSummary | None) -> str:
    """Return the law in use, and why it counts as fitted or not, with figures."""
    reason = fit_reason(model)
    if model is None or reason is FitReason.NO_EVIDENCE:
        return "no evidence yet, or the policy has no model"
    used = model.in_use
    state = {
        FitReason.PREDICTS_HELD_OUT: "fitted",
        FitReason.ONE_PLACEMENT: f"not fitted: fewer than {MIN_CONDITIONS} placements can be compared",
        FitReason.ERROR_HIGH: f"not fitted: more than {MAX_HELD_OUT_ERROR_PCT:g} %",
    }[reason]
    return f"{used.law} decides; {_held_out(used)}; {state}"


def fit_verdict(model: ModelSummary | None, mst: Estimate | None) -> tuple[bool, FitReason, str]:
    """Return whether a model can be trusted, why, and a sentence with the interval of the present placement's MST.

    With one placement nothing is held out: a narrow interval over enough batches counts.
    """
    reason = fit_reason(model)
    if model is None or reason is FitReason.NO_EVIDENCE or mst is None or not mst.mid:
        return reason is FitReason.PREDICTS_HELD_OUT, reason, fit_sentence(model)
    within_pct, seen = 50 * (mst.high - mst.low) / mst.mid, model.in_use.readings
    if reason is FitReason.ONE_PLACEMENT and within_pct <= MAX_INTERVAL_PCT and seen >= MIN_BATCHES:
        reason = FitReason.PREDICTS_PRESENT
    of = "batches" if model.law == BATCH_TIME else "readings"
    interval = f"MST of the present placement within {within_pct:.0f} %, from {seen} {of}"
    return reason in _TRUSTED, reason, "; ".join((interval, fit_sentence(model), *model.warnings))


def law_line(law: LawSummary) -> str:
    """Return the parameters of a law with their 90 % intervals, its held-out error and its evidence.

    Examples
    --------
    >>> alpha = ParameterEstimate(name="alpha", unit="rows/s", value=980, low=940, high=1020, identified=True)
    >>> beta = ParameterEstimate(name="beta", unit="1", value=1, low=None, high=None, identified=False)
    >>> law_line(LawSummary(law="eq1", parameters=(alpha, beta), readings=7))
    'eq1: alpha 980 rows/s (940 to 1020), beta 1 (not identified); held-out error unknown; readings: 7'
    """
    parameters = ", ".join(map(parameter_text, law.parameters)) or "no evidence"
    return f"{law.law}: {parameters}; {_held_out(law)}; readings: {law.readings}"


def model_lines(model: ModelSummary | None) -> tuple[str, ...]:
    """Return the law in use and whether it is fitted, a line for each law, and the warnings; empty for None."""
    return () if model is None else (fit_sentence(model), *map(law_line, model.laws), *model.warnings)


def parameter_text(parameter: ParameterEstimate) -> str:
    """Return a parameter with its unit and its 90 % interval, or that it is not identified."""
    unit = "" if parameter.unit == "1" else f" {parameter.unit}"
    value = f"{parameter.name} {format_figure(parameter.value)}{unit}"
    if not parameter.identified:
        return f"{value} (not identified)"
    if parameter.low is None or parameter.high is None:
        return value
    return f"{value} ({format_figure(parameter.low)} to {format_figure(parameter.high)})"


def _held_out(law: LawSummary) -> str:
    if law.held_out_error_pct is None:
        return "held-out error unknown"
    placements = "1 placement" if law.conditions == 1 else f"{law.conditions} placements"
    return f"held-out error {law.held_out_error_pct:.1f} % over {placements}"
