"""How the ``gesscale`` process ends: signals, pipes that close, disks that are full. Each needs a real process."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from processes import COMMAND
from refusals import codes

SETTLE_S = 120  # bound of a wait, not an expectation
PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_how_run_ends_and_no_failure(site, number):
    with subprocess.Popen((*COMMAND, "run", "-c", str(site.config)), **PIPES) as running:
        first = running.stderr.readline()  # signals are taken from here on
        running.send_signal(number)
        _, rest = running.communicate(timeout=SETTLE_S)
    assert "INFO gesscale.run: started policy=gesscale-2021 period_s=60 mode=recommend" in first
    assert running.returncode == 0
    # The first step comes at once: the signal may be there before it or after it.
    assert re.search(r"INFO gesscale\.run: stopped after [01] steps\n\Z", rest)


def test_ctrl_c_in_a_single_step_exits_130(site):
    site.hang()
    words = ("recommend", "-c", str(site.config), "--set", "monitor.timeout=30s")
    with subprocess.Popen((*COMMAND, *words), **PIPES) as running:
        assert site.asked.wait(SETTLE_S)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=SETTLE_S)
    assert (running.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "interrupted"
    assert "Traceback" not in err


OTHER_ERROR = """
import os, signal, typer
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background begins with it ignored
from gesscale.cli.process_exit import run
cli = typer.Typer()
@cli.command()
def draw():
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:  # as code in C does that takes it for a failed conversion
        raise ValueError("Invalid affine transformation matrix") from None
run(cli)
"""


def test_ctrl_c_that_became_another_error_exits_130():
    done = subprocess.run(
        (sys.executable, "-c", OTHER_ERROR), capture_output=True, text=True, check=False, timeout=SETTLE_S
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


BRINGS_UP = """
import signal, sys, time, typer
from gesscale.cli.process_exit import run
from gesscale.cli.process_exit import end_as_ctrl_c_does
cli = typer.Typer()
@cli.command()
def up():
    end_as_ctrl_c_does()
    try:
        print("up", flush=True)
        for _ in range(1200):  # a signal that comes just before a sleep begins does not end that one
            time.sleep(0.1)
    finally:
        print("down", flush=True)
run(cli)
"""


def test_a_command_cleans_up_on_sighup():
    quiet = f"import signal; signal.signal({int(signal.SIGHUP)}, signal.SIG_DFL)"  # a test run may ignore it
    with subprocess.Popen((sys.executable, "-c", quiet + BRINGS_UP), **PIPES) as running:
        assert running.stdout.readline() == "up\n"
        running.send_signal(signal.SIGHUP)
        assert running.communicate(timeout=SETTLE_S)[0] == "down\n"
    assert running.returncode == 130


def test_signals_that_are_ignored_stay_so_and_sigterm_ends_it():
    ignoring = (signal.SIGHUP, signal.SIGINT)  # as nohup and a script's & start it
    program = "".join(f"import signal; signal.signal({int(each)}, signal.SIG_IGN)\n" for each in ignoring)
    with subprocess.Popen((sys.executable, "-c", program + BRINGS_UP), **PIPES) as running:
        assert running.stdout.readline() == "up\n"
        for each in ignoring:
            running.send_signal(each)
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(0.5)
        running.send_signal(signal.SIGTERM)
        assert running.communicate(timeout=SETTLE_S)[0] == "down\n"
    assert running.returncode == 130


def test_a_reader_that_leaves_early_ends_it_without_a_word():
    read, write = os.pipe()
    os.close(read)
    try:
        ended = subprocess.run(
            (*COMMAND, "config", "schema"), stdout=write, stderr=subprocess.PIPE, text=True, check=False
        )
    finally:
        os.close(write)
    assert (ended.returncode, ended.stderr) == (1, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full disk to write to")
def test_a_full_disk_is_one_line():
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            (*COMMAND, "config", "docs"), stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (ended.returncode, codes(ended.stderr)) == (1, ["io-failed"])
    assert ended.stderr.count("\n") == 1
