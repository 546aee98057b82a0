import signal

import pytest

from gesscale.clock import SystemClock


@pytest.fixture(autouse=True)
def handlers():
    """Give the process its handlers back."""
    former = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in former.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_wait(number):
    signal.signal(number, signal.SIG_DFL)
    clock = SystemClock()
    clock.stop_on_signals()
    assert clock.wait_until(0.0) is True
    signal.raise_signal(number)
    assert clock.wait_until(clock.now_s() + 60) is False


def test_ctrl_c_is_not_for_a_scripts_background_job():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    clock = SystemClock()
    clock.stop_on_signals()
    signal.raise_signal(signal.SIGINT)
    assert clock.wait_until(0.0) is True
    signal.raise_signal(signal.SIGTERM)
    assert clock.wait_until(0.0) is False
