"""The bundled constants of the local cluster on recorded runs that they were not fitted to.

A further record is one more line in ``HELD_OUT``.
"""

from dataclasses import asdict, dataclass

import pytest
from made_runs import FITTED_TO, RECORDS

from testbed.simulator.spark.constants import FOLDER, read_physics
from testbed.simulator.validation.batch_times import batch_errors
from testbed.simulator.validation.comparison import act_again, between_runs, compare_run
from testbed.simulator.validation.measured_batch import of_run
from testbed.simulator.validation.recorded_run import read_run
from testbed.simulator.validation.refit import CALM_S
from testbed.simulator.validation.refit import refit as fit_again

MACHINE_PCT = 5.0
"""So much do three batches alike differ on an idle machine, by the column spread of the readings: 1 to 5 %."""


@dataclass(frozen=True)
class HeldOut:
    """A record, and whether it is the first of the fitted runs once more: same load, settings, policy."""

    name: str
    repeats: bool


HELD_OUT = (HeldOut("warm-2", repeats=True), HeldOut("warm-3", repeats=False))


def test_the_bundled_constants_are_what_the_records_give() -> None:
    bundled = read_physics("local-cluster")
    again = fit_again(read_physics("map"), [read_run(RECORDS / name) for name in FITTED_TO]).physics
    # The fit ends where the last digit of four may differ from machine to machine.
    assert asdict(again) == pytest.approx(asdict(bundled), rel=5e-3)
    assert f"warm batches of {', '.join(FITTED_TO)}." in (FOLDER / "local-cluster.yaml").read_text()


def test_the_constants_of_nexmark_are_what_its_record_gives() -> None:
    run, bundled = read_run(RECORDS / "nexmark-1"), read_physics("nexmark-q5")
    again = fit_again(read_physics("group-by"), [run]).physics
    assert asdict(again) == pytest.approx(asdict(bundled), rel=5e-3)
    # two cores shared with other work: its warm batches scatter by 6 %, those of the taxi map by 3 %
    assert batch_errors(bundled, of_run(run, from_s=CALM_S)).batch_time.mean_pct < 2 * MACHINE_PCT


@pytest.mark.parametrize("held_out", HELD_OUT, ids=lambda each: each.name)
def test_warm_batches_of_a_held_out_run_are_met_as_closely_as_the_machine_repeats_itself(
    held_out: HeldOut,
) -> None:
    physics = read_physics("local-cluster")
    fitted, met = (of_run(read_run(RECORDS / name), from_s=CALM_S) for name in (FITTED_TO[0], held_out.name))
    # The error cannot be below that of the fit (3.0 %, bias of throughput 0.9 %); on top of it comes what the machine
    # differs by from one time to another.
    of_fit, of_met = (batch_errors(physics, each) for each in (fitted, met))
    assert of_met.batch_time.mean_pct < of_fit.batch_time.mean_pct + MACHINE_PCT
    assert abs(of_met.throughput.bias_pct) < abs(of_fit.throughput.bias_pct) + MACHINE_PCT
    # MST is made of full batches; the others wait for the trigger.
    full = [each for each in met if each.is_full]
    assert abs(batch_errors(physics, full).throughput.bias_pct) < MACHINE_PCT


@pytest.mark.parametrize("held_out", [each for each in HELD_OUT if each.repeats], ids=lambda each: each.name)
def test_a_held_out_repetition_is_no_farther_from_the_simulator_than_from_the_first_run(
    held_out: HeldOut,
) -> None:
    # The bound is reality's own: so far are two real runs of the same load and settings apart, though they were scaled
    # at other instants, and the simulated run is not. The median of 20 seeds is certain to about a tenth.
    runs = [read_run(RECORDS / name) for name in (FITTED_TO[0], held_out.name)]
    (apart,) = between_runs(runs).values()
    physics, again = read_physics("local-cluster"), runs[1]
    simulated = compare_run(again, physics, act_again(again, physics, 20)).distances
    for name, distance in simulated.items():
        assert distance.from_record.median < 1.1 * getattr(apart, name), name
