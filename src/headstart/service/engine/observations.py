"""Observations: rewards of choices that were made elsewhere."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy import insert

from headstart.arrays import Floats, packed
from headstart.live import inputs
from headstart.live.outcomes import Outcome
from headstart.service import schemas
from headstart.service.engine.bandits import Bandit
from headstart.service.engine.contexts import Told, features_of, new_of, told
from headstart.service.engine.decisions import new_ids
from headstart.service.engine.idempotency import Keys
from headstart.service.engine.tasks import (
    close_all,
    find_or_open,
    know_all,
    write_learned,
)
from headstart.service.engine.transaction import Transaction
from headstart.service.messages import (
    ObservationAnswer,
    ObservationRequest,
    ServiceError,
    check_name,
    invalid,
)
from headstart.service.store import schema
from headstart.service.store.schema import decisions as table
from headstart.service.store.tasks import TaskEntry


def observe(
    transaction: Transaction, bandit: Bandit, requests: Sequence[ObservationRequest]
) -> list[ObservationAnswer | ServiceError]:
    """Learn observations in order; each is stored as a decision that was paid at once."""
    keys = Keys(transaction, bandit, requests, ObservationAnswer)
    tells = [_told(bandit, each) for each in requests]
    asked = [
        (str(each.task), tell.about)
        for each, tell in zip(requests, tells, strict=True)
        if isinstance(tell, Told) and keys.answer(each) is None
    ]
    tasks, opened = find_or_open(transaction, bandit, asked, lock=True)
    told_of: list[tuple[TaskEntry, Told]] = []
    learned: dict[int, TaskEntry] = {}
    rows: list[dict[str, Any]] = []
    answers: list[ObservationAnswer | ServiceError] = []
    block = transaction.block(len(requests))
    ids = new_ids(len(requests), transaction.now)
    for request, tell, number in zip(requests, tells, ids, strict=True):
        before = keys.answer(request)
        if before is not None:
            answers.append(before)
            continue
        if isinstance(tell, ServiceError):
            answers.append(tell)
            continue
        task = tasks[str(request.task)]
        if isinstance(task, ServiceError):
            answers.append(task)
            continue
        try:
            x = _features(bandit, request, task, tell)
            value, weight = inputs.reward_of(request.value), inputs.weight_of(request.weight)
            transaction.touch(bandit, [task])
            outcome = bandit.rows(task).learn(task.id, x, value, weight, _item(bandit, request))
        except (ServiceError, ValueError) as error:
            answers.append(error if isinstance(error, ServiceError) else invalid(str(error)))
            continue
        if outcome is Outcome.PAID:
            transaction.sums.rewarded(bandit.number, task.control)
            transaction.sums.counted(bandit.number, task, value)
            learned[task.id] = task
            told_of.append((task, tell))
            rows.append(_row(transaction, bandit, task, request, (number, block), x))
        else:
            transaction.sums.refused(bandit.number, outcome)
        answer = ObservationAnswer(id=number, outcome=outcome)
        answers.append(answer)
        keys.note(request, answer, task.id)
    if rows:
        transaction.connection.execute(insert(table), rows)
    write_learned(transaction, bandit, list(learned.values()))
    know_all(transaction, bandit, new_of(told_of).values())
    keys.write()
    close_all(transaction, bandit, [task for task in opened if task.id not in learned])
    return answers


def _told(bandit: Bandit, request: ObservationRequest) -> Told | ServiceError:
    try:
        if request.arm is not None:
            check_name("arm", request.arm)
        return told(bandit, request)
    except ServiceError as error:
        return error


def _features(bandit: Bandit, request: ObservationRequest, task: TaskEntry, tell: Told) -> Floats:
    """The features of an observation: given, or of an arm in the catalogue."""
    if bandit.schema is not None:
        return features_of(bandit, request, task, tell)
    if request.item is not None:
        raise schemas.no_schema("item", request.item)
    if request.features is not None:
        return inputs.vector_of("features", request.features, bandit.model.dimension)
    place = bandit.catalogue.index.get(request.arm or "")
    if place is None:
        got = "neither" if request.arm is None else repr(request.arm)
        raise ValueError(f"features or an arm of the catalogue must be given, got {got}")
    return np.array(bandit.catalogue.features[place])


def _item(bandit: Bandit, request: ObservationRequest) -> str | None:
    """The observed item of the catalogue; None if the observation has its own features."""
    own = request.features is not None or request.item is not None
    return None if own or request.arm not in bandit.catalogue.index else request.arm


def _row(
    transaction: Transaction,
    bandit: Bandit,
    task: TaskEntry,
    request: ObservationRequest,
    place: tuple[str, int],
    x: Floats,
) -> dict[str, Any]:
    number, block = place
    return {
        "bandit": bandit.number,
        "id": number,
        "block": block,
        "task": task.id,
        "rank": 0,
        "observed": 1,
        "arm": request.arm or "",
        "features": packed(x),
        "effect": None if _item(bandit, request) is None else 0.0,
        "prior_version": bandit.prior_version,
        "time": transaction.now,
        "status": schema.PAID,
        "value": float(request.value),
        "weight": float(request.weight),
        "paid_time": min(
            transaction.now if request.time is None else request.time, transaction.now
        ),
        "round": task.n_rewards,
    }
