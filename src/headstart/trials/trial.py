"""Trial: would a warm start pay on one's own log? One call answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headstart import checks
from headstart.features import Features
from headstart.processes import one_blas_thread
from headstart.trials import rows as numbers
from headstart.trials.earnings import earnings
from headstart.trials.log import MOST_ROWS, CannotTell, Log, Names, read
from headstart.trials.page import Trial
from headstart.trials.shares import TASTES, shares
from headstart.trials.starts import predicted
from headstart.trials.verdict import Answer, curves, verdict


@one_blas_thread  # on which the last bits of a product may depend
def trial(
    log: Any,
    *,
    task: str = "task",
    reward: str = "reward",
    item: str | None = None,
    propensity: str | None = None,
    time: str | None = None,
    context: Sequence[str] = (),
    features: Features | None = None,
    leave_out: Sequence[str] = (),
    seed: int = 0,
    most_rows: int = MOST_ROWS,
) -> Trial:
    """Whether a warm start would pay on this log, before anything is built.

    The first 50 rewards of every task are predicted one by one, from the task's earlier rewards and
    from other tasks: by the mean, by the task alone, by one model for all tasks, by a two-level
    ridge regression whose penalties are chosen on other tasks, and by headstart's prior.

    See `Trial` for an example.

    Parameters
    ----------
    log : path, list of paths, or frame
        A row per decision: the task, the attributes of what was chosen, and the reward.
    task, reward : str, default "task" and "reward"
        The columns of these.
    item : str, optional
        The column that names what was chosen, if it has a name.
    propensity : str, optional
        The column of the probabilities with which the log's policy made its choices; then the page
        has what each method would have earned.
    time : str, optional
        The column of times: seconds, or text in ISO 8601. Then later tasks are predicted from
        earlier ones only. Without it, rows of a task are in the order of their rewards.
    context : sequence of str, optional
        Attributes of the situation, the same for everything that could be chosen. By default a
        guess, as in `Features.infer`.
    features : Features, optional
        The schema; inferred from the log by default.
    leave_out : sequence of str, optional
        Columns that are no attributes, for instance because they are known after the reward only.
    seed : int, default 0
        Decides which tasks are drawn of a large log, and which predict which.
    most_rows : int, default 100,000
        How many rows are kept, of whole tasks.

    Returns
    -------
    Trial
        The answer, with what it rests on. A log that allows none gets a sentence and no numbers.
    """
    names = Names(task=task, reward=reward, item=item, propensity=propensity, time=time)
    checks.count("seed", seed, least=0)
    notes: list[str] = []
    try:
        found = read(log, names, seed=seed, most_rows=checks.count("most_rows", most_rows))
        notes += _read_notes(found, names, seed)
        for name in (*leave_out, *context):
            if name not in found.frame:
                raise ValueError(f"the log must have a column {name!r}, got {[*found.frame]}")
        numbers.check(found, names, leave_out)
        schema = (
            numbers.schema(found, names, context, leave_out)
            if features is None
            else features.settled(items=found.frame, context=found.frame, about=found.frame)
        )
        notes += _schema_notes(schema, {*names.known(), *leave_out})
        rows = numbers.rows_of(found, names, schema)
        errors, starts = predicted(rows, seed)
        found_shares = shares(rows, seed)
        answer, sentence = verdict(errors, found_shares.of[TASTES])
        return Trial(
            answer=answer,
            verdict=sentence,
            shares=found_shares,
            curves=curves(errors),
            earnings=earnings(found, names, schema, rows, starts, seed),
            features=schema,
            notes=notes,
            code=_code(log, names, schema, answer),
        )
    except CannotTell as reason:
        sentence = f"This log cannot tell, because {reason}."
        return Trial(answer="cannot tell", verdict=sentence, notes=notes)


def _read_notes(log: Log, names: Names, seed: int) -> list[str]:
    about = "" if log.n_tasks < 1 << 20 else "about "
    notes = [f"{log.n_rows:,} rows of {about}{log.n_tasks:,} tasks."]
    if log.kept < log.n_tasks:
        notes.append(f"Of these, {log.kept:,} tasks were drawn, with seed {seed}.")
    if log.left_out:
        notes.append(f"{log.left_out:,} rows without a number as reward were left out.")
    if names.time is None:
        notes.append("Without a column of times, rows are taken to be in the order of time.")
    return notes


def _schema_notes(schema: Features, known: set[str]) -> list[str]:
    notes = [f"{schema.dimension} features of {', '.join(schema.attributes) or 'no attributes'}."]
    if schema.report is not None:
        left_out = schema.report.left_out.items()
        notes += [f"{name} is left out: {why}." for name, why in left_out if name not in known]
        notes += [f"{note[:1].upper()}{note[1:]}." for note in schema.report.notes]
    return notes


# What a bandit is given for each answer, beyond the features.
_PRIORS = {
    "yes": "",
    "one model": ", prior=hs.priors.SingleModel()",
    "alone": ", prior=hs.priors.Fixed.zero()",
}


def _code(log: Any, names: Names, schema: Features, answer: Answer) -> str:
    """The lines to start with: a bandit of the answer, which has learned this log."""
    given = isinstance(log, str | Path)
    source = json.dumps(str(log)) if given else "log"
    columns = f"task={json.dumps(names.task)}, reward={json.dumps(names.reward)}"
    if schema.report is None:
        made = str(schema)
    else:
        item = "" if names.item is None else f", item={json.dumps(names.item)}"
        made = f"hs.Features.infer({source}, {columns}{item})"
    return "\n".join([
        "import headstart as hs",
        "",
        f"features = {made}",
        f"bandit = hs.MetaBandit(features=features{_PRIORS[answer]}, seed=0)",
        f"bandit.fit({source}, {columns})",
        "",
        "decision = bandit.decide(user, items, context=context)  # items: attributes by name",
        "bandit.reward(decision.id, 1.0)",
    ])  # fmt: skip
