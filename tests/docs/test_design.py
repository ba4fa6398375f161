"""The picture of the design is current, and its flows are what happens."""

import asyncio
import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import httpx
import numpy as np
import pytest
from docs.building import design

import headstart as hs
from headstart.service.engine.service import Service
from headstart.service.http.app import Application

# The steps of a flow that run at the time of a call, the innermost first.
Event = tuple[CodeType, tuple[CodeType, ...]]


def test_the_picture_has_every_package_and_is_current() -> None:
    assert {*design.PACKAGES, *design.SHARED} == design.packages()
    assert design.PICTURE.read_text(encoding="utf-8") == design.picture()


def test_arrows_are_imports_and_go_down() -> None:
    imports, arrows = design.imports(), design.arrows()
    assert ("priors", "interfaces") in arrows
    assert ("live", "kernels") not in arrows  # it follows from live → priors → … → kernels
    for above, below in arrows:
        assert below in imports[above]
        assert design.PACKAGES[above].row < design.PACKAGES[below].row, (above, below)


def code_of(call: str) -> CodeType:
    """The code of a step, which must exist."""
    parts = call.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            found: Any = import_module("headstart." + ".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = inspect.unwrap(getattr(found, part))
        assert isinstance(found.__code__, CodeType)
        return found.__code__
    raise AssertionError(call)


@contextmanager
def traced(codes: set[CodeType]) -> Iterator[list[Event]]:
    """The calls of these codes, in all threads that start meanwhile and in this one."""
    events: list[Event] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in codes:
            events.append((frame.f_code, tuple(_callers(frame.f_back))))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield events
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _callers(frame: FrameType | None) -> Iterator[CodeType]:
    while frame is not None:
        yield frame.f_code
        frame = frame.f_back


def simulate(_: Path) -> None:
    world = hs.environments.Synthetic(reward="linear", dimension=3)
    learner = hs.learners.rr_oful(regularization=1.0)
    hs.simulate(world, [learner], n_tasks=2, horizon=3, replications=2, workers=1)


def decide_and_reward(_: Path) -> None:
    bandit = hs.MetaBandit(dimension=2, seed=0)
    for _round in range(2):  # what opens a task, and then what an open task does
        decision = bandit.decide("ann", np.eye(2))
        assert bandit.reward(decision.id, 1.0) is hs.Outcome.PAID


def request(folder: Path) -> None:
    async def ask(app: Application) -> httpx.Response:
        transport = httpx.ASGITransport(app, client=("127.0.0.1", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            await client.put("/v1/bandits/news", json={"dimension": 2})
            body = {"task": "ann", "arms": {"a": [1.0, 0.0], "b": [0.0, 1.0]}}
            return await client.post("/v1/bandits/news/decisions", json=body)

    with Service.open(folder / "store.db") as service:
        asyncio.run(ask(Application(service, log_requests=False))).raise_for_status()


@pytest.mark.parametrize(
    ("title", "run"),
    [
        ("Simulate", simulate),
        ("Decide and reward", decide_and_reward),
        ("A service request", request),
    ],
)
def test_a_flow_is_what_happens(title: str, run: Callable[[Path], None], tmp_path: Path) -> None:
    steps = [(step.depth, code_of(step.call)) for step in design.FLOWS[title]]
    for part in ("once", "traced"):
        (tmp_path / part).mkdir()
    run(tmp_path / "once")  # what is compiled now is not traced
    with traced({code for _, code in steps}) as events:
        run(tmp_path / "traced")
    above: dict[int, CodeType] = {}
    happened = iter(events)
    for depth, code in steps:
        wanted = {above[depth - 1]} if depth else set()
        assert any(found is code and wanted <= {*callers} for found, callers in happened), code
        above[depth] = code
