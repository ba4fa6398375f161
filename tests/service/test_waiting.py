"""Tests that wait end with the cause."""

import threading

import pytest
from tests.waiting import Running, running, until


def _fail() -> None:
    raise KeyError("the cause")


def test_the_cause_is_raised_in_the_test_that_waits() -> None:
    thread = Running(_fail)
    thread.start()
    with pytest.raises(KeyError, match="the cause"):
        until(lambda: False, by=thread)
    with pytest.raises(KeyError, match="the cause"), running(_fail, lambda: None):
        pass


def test_waiting_ends() -> None:
    done = Running(lambda: None)
    done.start()
    with pytest.raises(RuntimeError, match="ended before"):
        until(lambda: False, by=done)
    with pytest.raises(TimeoutError, match="in vain"):
        until(lambda: False, seconds=0.05)
    stop = threading.Event()
    with running(stop.wait, stop.set) as thread:
        until(thread.is_alive, by=thread)
    assert not thread.is_alive()
