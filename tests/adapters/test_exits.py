"""``os._exit`` in functions of users that run in several threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pytest

from harness.adapters import environment
from harness.adapters.environment import ProcessExit, without_exit

REAL_END = os._exit


def test_functions_that_overlap_leave_os_exit_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(environment, "_end", ended.append)
    monkeypatch.setattr(environment, "_guarded", set())  # it keeps hung functions
    monkeypatch.setattr(os, "_exit", REAL_END)  # and restores it afterwards
    inside, leave = threading.Event(), threading.Event()
    refused: list[str] = []

    def other() -> None:
        with without_exit():
            inside.set()
            leave.wait(10)
            try:
                os._exit(2)
            except ProcessExit as error:
                refused.append(str(error))

    thread = threading.Thread(target=other)
    with without_exit():
        thread.start()
        assert inside.wait(10)
        with without_exit():
            pass
        with pytest.raises(ProcessExit, match=r"os\._exit\(1\)"):
            os._exit(1)
    end: Callable[[int], object] = os._exit
    end(3)  # the other function still runs, and this thread can end
    leave.set()
    thread.join()
    assert (ended, refused) == ([3], ["os._exit(2) ends the process"])
    assert os._exit == ended.append
