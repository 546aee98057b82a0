"""Calls in daemon threads, so that one that never returns does not block the others."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Result = TypeVar("Result")


def in_thread(call: Callable[[], Result], *, name: str | None = None) -> "Future[Result]":
    """Start a call in a new daemon thread, which does not keep the process from exiting."""
    future: Future[Result] = Future()
    future.set_running_or_notify_cancel()  # it can no longer be cancelled
    threading.Thread(target=_run, args=(call, future), name=name, daemon=True).start()
    return future


def _run(call: Callable[[], Result], future: "Future[Result]") -> None:
    try:
        future.set_result(call())
    except BaseException as error:  # noqa: BLE001 - result() raises it again
        future.set_exception(error)
    finally:
        # The error references this frame: the cycle would stay until a full garbage collection.
        del call, future
