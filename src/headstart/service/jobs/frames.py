"""Frames: messages between a job's process and the one that started it."""

from typing import IO

import msgspec

from headstart.service import children
from headstart.service.messages import BanditConfiguration, EvaluateRequest, FitRequest, Report


class FitWork(msgspec.Struct, kw_only=True, tag="fit"):
    """All that a fit needs, but for the files themselves."""

    folder: str
    files: list[str]
    configuration: BanditConfiguration
    request: FitRequest
    memory: bytes | None = None  # of the store's tasks
    promoted: list[bytes] = []  # the memories of fits that count


class EvaluateWork(msgspec.Struct, kw_only=True, tag="evaluate"):
    """All that an evaluation needs, but for the files themselves."""

    folder: str
    files: list[str]
    configuration: BanditConfiguration
    request: EvaluateRequest
    catalogue: dict[str, list[float]] = {}


class Update(msgspec.Struct, tag="update"):
    """How far a job is, from 0 to 1, and what it does."""

    progress: float
    step: str


class Done(msgspec.Struct, tag="done", kw_only=True):
    """A job's report; a fit that was no dry run has a memory."""

    report: Report
    memory: bytes | None = None


class Failed(msgspec.Struct, tag="failed", kw_only=True):
    """Why a job failed, in one sentence; unexpected: through no fault of the request."""

    error: str
    unexpected: bool = False


Work = FitWork | EvaluateWork
Answer = Update | Done | Failed


def write(file: IO[bytes], message: Work | Answer) -> None:
    """Write one message."""
    children.write(file, msgspec.msgpack.encode(message))


def work_of(content: bytes) -> Work:
    """What a job's process is given."""
    work: Work = msgspec.msgpack.decode(content, type=Work)
    return work


def answer_of(content: bytes) -> Answer:
    """What a job's process says."""
    answer: Answer = msgspec.msgpack.decode(content, type=Answer)
    return answer
