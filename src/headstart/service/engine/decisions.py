"""Decisions: tasks get arms, and every choice is stored with its reasons."""

import math
import os
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import insert

from headstart.arrays import Floats, packed
from headstart.live.stored import Chosen, DecisionSet
from headstart.service.engine.bandits import Bandit
from headstart.service.engine.contexts import Shown, Told, new_of, told
from headstart.service.engine.idempotency import Keys
from headstart.service.engine.tasks import (
    close_all,
    find_or_open,
    know_all,
    write_learned,
)
from headstart.service.engine.transaction import Transaction
from headstart.service.messages import (
    ChosenArm,
    DecisionAnswer,
    DecisionRequest,
    ServiceChoice,
    ServiceError,
    invalid,
)
from headstart.service.store import schema
from headstart.service.store.blocks import first_id
from headstart.service.store.prepared import Prepared
from headstart.service.store.schema import decisions as table
from headstart.service.store.tasks import TaskEntry

_RANDOM_BYTES = 10
_COLUMNS = (
    "bandit",
    "id",
    "block",
    "task",
    "slate",
    "rank",
    "observed",
    "arm",
    "features",
    "parts",
    "propensity",
    "mean",
    "half",
    "effect",
    "prior_version",
    "time",
    "status",
    "value",
    "weight",
    "round",
    "catalogue",
    "offered",
    "service_arm",
    "service_propensity",
    "chance",
)
_INSERT = Prepared(insert(table), _COLUMNS)


def new_ids(n: int, now: float) -> list[str]:
    """Ids that are unique across processes, restarts and restored backups, in the order of time."""
    time, drawn = first_id(now), os.urandom(n * _RANDOM_BYTES).hex()
    size = 2 * _RANDOM_BYTES
    # In order, they go to the end of an index one after another.
    return sorted([time + drawn[i : i + size] for i in range(0, size * n, size)])


@dataclass(slots=True)
class _Choice:
    """The choice that a request asks for."""

    place: int
    request: DecisionRequest
    task: str
    shown: DecisionSet
    told: Told
    own: int | None  # the place of the caller's own choice among the arms
    offered: bytes | None
    entry: TaskEntry | None = None


class _Considered(NamedTuple):
    """What the service would have chosen in shadow mode, and its chance of what was served."""

    arm: str
    propensity: float
    chance: float
    agrees: bool


def decide(
    transaction: Transaction, bandit: Bandit, requests: Sequence[DecisionRequest]
) -> list[DecisionAnswer | ServiceError]:
    """Decide for requests; each gets its own answer or error."""
    answers: list[DecisionAnswer | ServiceError | None] = [None] * len(requests)
    keys = Keys(transaction, bandit, requests, DecisionAnswer)
    wanted = []
    catalogue, names = bandit.catalogue, bandit.model.feature_names
    for place, request in enumerate(requests):
        try:
            before = keys.answer(request) if keys else None
            if before is not None:
                answers[place] = before
                continue
            shown = catalogue.shown(request, names)
            tells = told(bandit, request)
            own = _own(bandit, request, shown)
        except ServiceError as error:
            answers[place] = error
        else:
            offered = catalogue.offered(shown)
            wanted.append(_Choice(place, request, str(request.task), shown, tells, own, offered))
    opened = _find_tasks(transaction, bandit, wanted, answers)
    _complete(bandit, wanted)
    batch = _Batch(transaction, bandit, len(wanted))
    found = [choice for choice in wanted if choice.entry is not None]
    # If decisions teach nothing, a task's decisions are made together.
    one_by_one = bandit.model.settings.default_reward is not None
    for wave in _waves(found, tasks_once=one_by_one):
        for choice in wave if keys else ():
            if answers[choice.place] is None:
                answers[choice.place] = keys.answer(choice.request)
        for choice, answer in batch.decide([w for w in wave if answers[w.place] is None]):
            answers[choice.place] = answer
            if isinstance(answer, DecisionAnswer) and choice.entry is not None:
                keys.note(choice.request, answer, choice.entry.id)
    batch.write()
    if bandit.schema is not None and bandit.schema.n_about:
        right = (c for c in wanted if isinstance(answers[c.place], DecisionAnswer))
        pairs = [(c.entry, c.told) for c in right if c.entry is not None]
        know_all(transaction, bandit, new_of(pairs).values())
    keys.write()
    used = {answer.task for answer in answers if isinstance(answer, DecisionAnswer)}
    close_all(transaction, bandit, [task for task in opened if task.name not in used])
    return [answer for answer in answers if answer is not None]


def _own(bandit: Bandit, request: DecisionRequest, shown: DecisionSet) -> int | None:
    """The place of the caller's own choice among the arms, checked for all tasks."""
    settings = bandit.configuration
    is_needed = settings.shadow or settings.control == "own"
    if request.own is None:
        if request.own_propensity is not None:
            raise invalid("own_propensity needs own, got own_propensity alone")
        if is_needed:
            why = "in shadow mode" if settings.shadow else 'where control is "own"'
            raise invalid(f"own must be the arm that you would serve {why}, got none")
        return None
    if is_needed and request.n > 1:
        raise invalid(f"n must be 1 if own is served, got {request.n}")
    place = bandit.catalogue.place(shown, request.own)
    if place is None:
        raise invalid(f"own must be an arm that can be chosen, got {request.own!r}")
    return place


def _find_tasks(
    transaction: Transaction,
    bandit: Bandit,
    wanted: Sequence[_Choice],
    answers: list[DecisionAnswer | ServiceError | None],
) -> list[TaskEntry]:
    """Find or open the tasks of requests. Returns the opened ones."""
    # Tasks that learn a default with their decisions will change.
    lock = bandit.model.settings.default_reward is not None
    asked = [(choice.task, choice.told.about) for choice in wanted]
    found, opened = find_or_open(transaction, bandit, asked, lock=lock)
    for choice in wanted:
        task = found[choice.task]
        if isinstance(task, ServiceError):
            answers[choice.place] = task
        else:
            choice.entry = task
    return opened


def _complete(bandit: Bandit, wanted: Sequence[_Choice]) -> None:
    """Give arms the columns that change with the context and the task."""
    schema = bandit.schema
    if schema is None or schema.is_fixed:
        return
    shown = Shown(bandit, schema)
    for choice in wanted:
        if choice.entry is not None:
            choice.shown = shown.arms(choice.shown, choice.entry, choice.told)


def _waves(wanted: Sequence[_Choice], *, tasks_once: bool) -> list[list[_Choice]]:
    """Requests in groups in which every key, and if asked every task, occurs once."""
    if not tasks_once or len({choice.task for choice in wanted}) == len(wanted):
        keyed = [
            choice.request.idempotency_key for choice in wanted if choice.request.idempotency_key
        ]
        if len(set(keyed)) == len(keyed):
            return [list(wanted)]
    waves: list[list[_Choice]] = []
    tasks: dict[str, int] = {}
    keys: dict[str, int] = {}
    for choice in wanted:
        key = choice.request.idempotency_key
        depth = tasks.get(choice.task, 0) if tasks_once else 0
        if key is not None:
            depth = max(depth, keys.get(key, 0))
            keys[key] = depth + 1
        tasks[choice.task] = depth + 1
        if depth == len(waves):
            waves.append([])
        waves[depth].append(choice)
    return waves


class _Batch:
    """The decisions of a transaction."""

    def __init__(self, transaction: Transaction, bandit: Bandit, n: int) -> None:
        self._transaction = transaction
        self._bandit = bandit
        self._block = transaction.block(n)
        self._rows: list[tuple[Any, ...]] = []
        self._n = {False: 0, True: 0}
        self._shown: Counter[str] = Counter()
        self._counted: Counter[str] = Counter()  # as the default
        self._default = bandit.model.settings.default_reward
        self._learned: dict[int, TaskEntry] = {}

    def decide(
        self, wanted: Sequence[_Choice]
    ) -> list[tuple[_Choice, DecisionAnswer | ServiceError]]:
        """Decide: together for requests of one arm, one by one for others."""
        answers: list[tuple[_Choice, DecisionAnswer | ServiceError]] = []
        chosen: dict[bool, list[_Choice]] = {False: [], True: []}
        for choice in wanted:
            assert choice.entry is not None
            if self._serves_own(choice, choice.entry):
                answers.append(self._elsewhere(choice, choice.entry))
            elif choice.request.n > 1:
                answers.append(self._ranked(choice))
            else:
                chosen[choice.entry.control].append(choice)
        for together in chosen.values():
            answers += self._together(together)
        return answers

    def _serves_own(self, choice: _Choice, task: TaskEntry) -> bool:
        """Whether the caller's own choice is served instead of the estimate's."""
        if choice.own is None or choice.request.n > 1:
            # A task may be older than the configuration by which the request was checked.
            return False
        is_control = task.control and schema.CONTROLS[task.against] == "own"
        return self._bandit.configuration.shadow or is_control

    def _elsewhere(
        self, choice: _Choice, task: TaskEntry
    ) -> tuple[_Choice, DecisionAnswer | ServiceError]:
        """Serve the caller's own choice."""
        assert choice.own is not None
        rows, told = self._bandit.rows(task), choice.request.own_propensity
        propensity = math.nan if told is None else told
        try:
            considered = (
                self._considered(choice, task) if self._bandit.configuration.shadow else None
            )
            chosen = rows.explain([task.id], [choice.shown], [choice.own], [propensity])
        except ValueError as error:
            return choice, invalid(str(error))
        if considered is not None:
            self._transaction.sums.shadowed(self._bandit.number, task, considered.agrees)
        ids = new_ids(1, self._transaction.now)
        return choice, self._answer(choice, ids, chosen, _Parts(chosen), range(1), considered)

    def _considered(self, choice: _Choice, task: TaskEntry) -> _Considered:
        assert choice.own is not None
        assert choice.shown.ids is not None
        chances = self._bandit.rows(task).propensities(task.id, choice.shown).tolist()
        (place,) = random.choices(range(len(chances)), chances)
        arm = str(choice.shown.ids[place])
        return _Considered(arm, chances[place], chances[choice.own], place == choice.own)

    def _together(
        self, wanted: Sequence[_Choice]
    ) -> list[tuple[_Choice, DecisionAnswer | ServiceError]]:
        if not wanted:
            return []
        tasks = [choice.entry for choice in wanted if choice.entry is not None]
        rows = self._bandit.rows(tasks[0])
        try:
            chosen = rows.choose([task.id for task in tasks], [choice.shown for choice in wanted])
        except ValueError as error:
            if len(wanted) == 1:
                return [(wanted[0], invalid(str(error)))]
            return [answer for choice in wanted for answer in self._together([choice])]
        ids = new_ids(len(wanted), self._transaction.now)
        parts = _Parts(chosen)
        return [
            (choice, self._answer(choice, [ids[i]], chosen, parts, range(i, i + 1)))
            for i, choice in enumerate(wanted)
        ]

    def _ranked(self, choice: _Choice) -> tuple[_Choice, DecisionAnswer | ServiceError]:
        assert choice.entry is not None
        n = choice.request.n
        try:
            chosen = self._bandit.rows(choice.entry).choose_ranked(choice.entry.id, choice.shown, n)
        except ValueError as error:
            return choice, invalid(str(error))
        ids = new_ids(n, self._transaction.now)
        return choice, self._answer(choice, ids, chosen, _Parts(chosen), range(n))

    def _answer(
        self,
        choice: _Choice,
        ids: list[str],
        chosen: Chosen,
        parts: "_Parts",
        places: range,
        considered: _Considered | None = None,
    ) -> DecisionAnswer:
        assert choice.entry is not None
        assert choice.shown.ids is not None
        arms = []
        catalogue = self._bandit.catalogue.digest if choice.shown.are_items else None
        service = (None, None, None) if considered is None else considered[:3]
        for rank, (decision, i) in enumerate(zip(ids, places, strict=True)):
            arm = str(choice.shown.ids[parts.indices[i]])
            mean, half, propensity = parts.means[i], parts.halves[i], parts.propensities[i]
            arms.append(
                ChosenArm(
                    id=decision,
                    arm=arm,
                    propensity=propensity,
                    mean=mean,
                    low=mean - half,
                    high=mean + half,
                )
            )
            effect = chosen.effects[i]
            item = None if effect is None else arm
            shadow = considered is not None
            counted = self._count(choice.entry, chosen.features[i], item, shadow=shadow)
            self._shown[arm] += 1
            if counted[0] is not None:
                self._counted[arm] += 1
            self._rows.append(
                (
                    self._bandit.number,
                    decision,
                    self._block,
                    choice.entry.id,
                    ids[0] if len(ids) > 1 else None,
                    rank,
                    0,
                    arm,
                    parts.features[i],
                    parts.contributions[i],
                    propensity,
                    mean,
                    half,
                    effect,
                    self._bandit.prior_version,
                    self._transaction.now,
                    schema.PENDING,
                    *counted,
                    catalogue,
                    choice.offered,
                    *service,
                )
            )
        self._n[choice.entry.control] += len(ids)
        return DecisionAnswer(
            id=ids[0],
            task=choice.task,
            arms=arms,
            prior_version=self._bandit.prior_version,
            control=choice.entry.control,
            shadow=None
            if considered is None
            else ServiceChoice(arm=considered.arm, propensity=considered.propensity),
        )

    def _count(
        self,
        task: TaskEntry,
        features: Floats,
        item: str | None,
        *,
        shadow: bool,
    ) -> tuple[float | None, float | None, int | None]:
        """Let a task learn the default, if there is one. Returns its value, weight and number."""
        if self._default is None:
            return None, None, None
        self._transaction.touch(self._bandit, [task])
        try:
            self._bandit.rows(task).learn(task.id, features, self._default, 1.0, item)
        except ValueError:  # too large to be learned: the decision counts only from its reward on
            return None, None, None
        sums = self._transaction.sums
        sums.counted(self._bandit.number, task, self._default, shadow=shadow)
        self._learned[task.id] = task
        return self._default, 1.0, task.n_rewards

    def write(self) -> None:
        """Store the decisions, and the tasks that learned with them."""
        sums = self._transaction.sums
        _INSERT.execute(self._transaction.connection, self._rows)
        write_learned(self._transaction, self._bandit, list(self._learned.values()))
        for control, n in self._n.items():
            if n:
                sums.decided(self._bandit.number, control, n)
        for arm, n in self._shown.items():
            sums.shown(self._bandit.number, arm, self._transaction.now, n)
        for arm, n in self._counted.items():
            sums.earned(self._bandit.number, arm, self._transaction.now, None, self._default, n)


class _Parts:
    """The numbers of choices as plain values, and the arrays as bytes."""

    def __init__(self, chosen: Chosen) -> None:
        self.indices = chosen.indices.tolist()
        self.means = chosen.means.tolist()
        self.halves = chosen.halves.tolist()
        self.propensities = [None if math.isnan(p) else p for p in chosen.propensities.tolist()]
        features = packed(chosen.features)
        size = len(features) // len(self.indices)
        self.features = [features[i * size : (i + 1) * size] for i in range(len(self.indices))]
        both = np.stack([chosen.from_prior, chosen.from_rewards], 1).astype("<f4").tobytes()
        # Two halves of the precision: as many bytes.
        self.contributions = [both[i * size : (i + 1) * size] for i in range(len(self.indices))]
