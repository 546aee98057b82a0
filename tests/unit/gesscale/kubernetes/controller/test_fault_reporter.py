"""Invalid resources are reported once, and again after a failure."""

from concurrent.futures import Executor, Future

from refusals import logged_codes

from gesscale.common.errors import Problem
from gesscale.kubernetes.controller.status_reporter import FaultReporter
from gesscale.kubernetes.resource.translate import FaultReason, ResourceFault

KEY = ("streams", "op")
FAULT = ResourceFault(reason=FaultReason.SPEC_INVALID, problems=(Problem("wrong"),))


class AtOnce(Executor):
    """Runs a task before it returns."""

    def submit(self, function, /, *arguments, **named):
        future = Future()
        try:
            future.set_result(function(*arguments, **named))
        except Exception as error:  # noqa: BLE001  # as a pool does
            future.set_exception(error)
        return future


class Scene:
    def __init__(self):
        self.reported, self.failure = [], None
        self.fault_reporter = FaultReporter(self.write, AtOnce())

    def write(self, key, fault):
        self.reported.append((key, fault))
        if self.failure:
            raise self.failure

    def report(self, fault, now_s, generation=1):
        faults = {KEY: fault} if fault else {}
        self.fault_reporter.report(faults, {KEY: ("uid", generation)}, now_s)
        return len(self.reported)


def test_a_fault_is_reported_once():
    scene = Scene()
    assert [scene.report(FAULT, now_s) for now_s in (0.0, 0.5, 100.0)] == [1, 1, 1]


def test_a_failed_report_is_retried_later(caplog):
    scene = Scene()
    scene.failure = RuntimeError("no disk")
    assert [scene.report(FAULT, now_s) for now_s in (0.0, 14.0, 15.0)] == [1, 1, 2]
    scene.failure = None
    assert [scene.report(FAULT, now_s) for now_s in (30.0, 60.0)] == [3, 3]
    assert set(logged_codes(caplog.text)) == {"status-not-written"}
