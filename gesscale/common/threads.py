"""Calls in threads of their own, so that one that never returns holds up no other."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Result = TypeVar("Result")


def in_thread(call: Callable[[], Result], *, name: str | None = None) -> "Future[Result]":
    """Begin a call in a thread of its own, which does not keep the process from ending."""
    future: Future[Result] = Future()
    future.set_running_or_notify_cancel()  # from here on it cannot be cancelled
    threading.Thread(target=_run, args=(call, future), name=name, daemon=True).start()
    return future


def _run(call: Callable[[], Result], future: "Future[Result]") -> None:
    try:
        future.set_result(call())
    except BaseException as error:  # noqa: BLE001 - the caller of result() gets it
        future.set_exception(error)
    finally:
        del (
            call,
            future,
        )  # the error holds this frame: together they would stay until the garbage collector's full run
