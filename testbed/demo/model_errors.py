"""How well each law describes what the cluster did: fitted to a run's own saturation readings."""

from gesscale.analyze.capacity import fit
from perfmodel import Reading, fit_errors, law_named
from testbed.demo.record import Record

LAWS = ("gesscale", "microbatch")


def law_errors(record: Record) -> dict[str, float | None]:
    """Return the mean error of each law on the run's saturation readings, per cent.

    Parameters
    ----------
    record
        A finished run.

    Returns
    -------
    dict of str to (float or None)
        By law; None where there is nothing to fit.
    """
    readings = tuple(_saturation_readings(record))
    errors: dict[str, float | None] = {}
    for law in LAWS:
        model = fit(readings, law_named(law), readings[-1].at_s) if readings else None
        errors[law] = None if model is None else fit_errors(model, readings).mean_pct
    return errors


def _saturation_readings(record: Record) -> list[Reading]:
    evidence = (proof for decision in record.decisions for proof in decision.analysis.evidence)
    return [proof for proof in evidence if proof.saturated]
