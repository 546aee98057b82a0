"""When it is asked which rights are missing."""

from concurrent.futures import Executor, Future

from kube import refused

from gesscale.kubernetes.rights_check import RightsCheck


class Later(Executor):
    """Runs what it was given when told to."""

    def __init__(self):
        self.waiting = []

    def submit(self, function):
        future = Future()
        self.waiting.append((future, function))
        return future

    def run(self):
        for future, function in self.waiting:
            try:
                future.set_result(function())
            except Exception as error:  # noqa: BLE001  # as a pool does
                future.set_exception(error)
        self.waiting = []


class Scene:
    def __init__(self, *answers):
        self.answers, self.pool = list(answers), Later()
        self.check = RightsCheck(self.ask, self.pool)

    def ask(self):
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def asked_at(self, *instants_s):
        """Tick at these instants; return those at which it was asked."""
        asked = []
        for now_s in instants_s:
            self.check.tick(now_s)
            if self.pool.waiting:
                asked.append(now_s)
                self.pool.run()
        return asked


def test_it_is_asked_at_the_start_and_every_ten_minutes_while_all_is_well():
    scene = Scene((), ())
    assert scene.check.missing is None
    # The answer of 0 s is seen at 1 s; 1 + 600 = 601.
    assert scene.asked_at(0.0, 1.0, 600.0, 601.0) == [0.0, 601.0]
    assert scene.check.missing == ()


def test_a_missing_right_is_asked_for_again_soon_and_named(caplog):
    scene = Scene(("list pods",), ())
    assert scene.asked_at(0.0, 1.0, 15.0, 16.0, 17.0) == [0.0, 16.0]
    assert scene.check.missing == ()
    assert "a right is missing: list pods" in caplog.text


def test_a_refusal_lets_it_ask_at_once():
    scene = Scene((), ("patch events",))
    scene.asked_at(0.0, 1.0)
    scene.check.refused()
    assert scene.asked_at(2.0, 2.5, 3.0) == [3.0]
    assert scene.check.missing == ("patch events",)


def test_no_answer_is_no_news():
    scene = Scene(("list pods",), refused(500), RuntimeError("odd"), ())
    assert scene.asked_at(0.0, 1.0, 16.0, 17.0) == [0.0, 16.0]
    assert scene.check.missing == ("list pods",)
    assert scene.asked_at(32.0, 33.0, 48.0) == [32.0, 48.0]
    assert scene.check.missing == ()


def test_it_does_not_ask_twice_at_once():
    scene = Scene(())
    scene.check.tick(0.0)
    scene.check.tick(10_000.0)
    assert len(scene.pool.waiting) == 1
