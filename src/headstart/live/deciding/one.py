"""Deciding for one task: one compiled call where that is enough, and Python for everything else."""

import numpy as np

from headstart import checks, kernels
from headstart.arrays import Floats, Integers
from headstart.kernels.compilation import compiled
from headstart.kernels.state import Reading
from headstart.kernels.views import view
from headstart.live import inputs
from headstart.live.catalogue import Catalogue
from headstart.live.deciding.choosing import Choosing, choose, choose_ranked, first_propensities
from headstart.live.deciding.decision_sets import DecisionSet, decision_set
from headstart.live.deciding.masks import Mask
from headstart.live.deciding.scoring import Scoring, UnreadableArmError, read_task
from headstart.live.deciding.uniforms import UniformStream
from headstart.live.decision import Decision, Name
from headstart.live.inputs import Arms, too_large
from headstart.live.tasks.all_tasks import Tasks
from headstart.live.tasks.layout import NONE, n_rewards
from headstart.live.tasks.pending import hold


@compiled(inline="always")
def reading_in(scratch: Floats, n_arms: int, dimension: int) -> Reading:
    """Scratch memory as the reading of one task."""
    end = n_arms * dimension
    return Reading(
        view(scratch, 0, (1, n_arms, dimension)),
        view(scratch, end, (1, n_arms)),
        view(scratch, end + n_arms, (1, n_arms)),
    )


@compiled(inline="always")
def keep(
    rows: Floats,
    slot: int,
    arms: Floats,
    i: int,
    projections: Floats,
    choice: int,
    pending: tuple[Floats, Integers],
    place: int,
) -> int:
    """Keep the chosen x of arms[i], its u = Ax and the rewards so far (`Pending`); its id."""
    dimension = arms.shape[2]
    kept, links = pending
    for a in range(dimension):
        kept[place, a] = arms[i, choice, a]
        kept[place, dimension + a] = projections[0, choice, a]
    kept[place, 2 * dimension] = n_rewards(rows[slot], dimension)
    return hold(links, rows, slot, place)


@compiled(fastmath=False)
def decide_one(
    rows: Floats,
    slot: int,
    radius: float,
    arms: Floats,
    uniform: float,
    exploration: float,
    scratch: Floats,
    scores: Floats,
    pending: tuple[Floats, Integers],
    place: int,
) -> tuple[int, float, int]:
    """Choose among arms (K, d) by xᵀŵ + radius·‖x‖, and keep the decision in a free place.

    Sets the scores (K,). Returns the choice, NONE if an arm cannot be read; its propensity; and the
    decision's id.
    """
    n_arms, dimension = arms.shape
    shown = arms.reshape(1, n_arms, dimension)
    reading = reading_in(scratch, n_arms, dimension)
    if not read_task(rows, slot, shown, 0, reading, 0):
        return NONE, 0.0, NONE
    shown_scores = view(scores, 0, (1, n_arms))
    kernels.index_one(reading.predictions, reading.widths, 0, radius, shown_scores, 0)
    choice, propensity = choose(shown_scores, 0, uniform, exploration)
    decision = keep(rows, slot, shown, 0, reading.projections, choice, pending, place)
    return choice, propensity, decision


def decide(
    tasks: Tasks,
    scoring: Scoring,
    stream: UniformStream,
    choosing: Choosing,
    task: Name,
    arms: Arms | Catalogue,
    *,
    mask: Mask | None,
    n: int | None,
) -> Decision | list[Decision]:
    """`MetaBandit.decide` for any arms, any policy and any task."""
    name = inputs.name_of(task)
    shown = decision_set(arms, choosing.names).masked(mask)
    wanted = 1 if n is None else checks.count("n", n)
    made = decide_ranked(tasks, scoring, stream, choosing, name, shown, wanted)
    return made[0] if n is None else made


def decide_ranked(
    tasks: Tasks,
    scoring: Scoring,
    stream: UniformStream,
    choosing: Choosing,
    name: Name,
    shown: DecisionSet,
    wanted: int,
) -> list[Decision]:
    """The best n arms of a decision set, each a decision."""
    available = int(shown.allowed.sum())
    if wanted > available:
        raise ValueError(f"n must be at most the {available} available arms, got {wanted}")
    opened = name not in tasks.slots
    slot = tasks.start(name)
    own = scoring.n_uniforms(len(shown.features))
    numbers = stream.peek(n_numbers(choosing, own, wanted))
    try:
        scores, draw = scores_of(tasks, scoring, choosing, slot, shown, numbers)
    except BaseException as error:
        if opened:
            tasks.undo_opening(name)
        if isinstance(error, UnreadableArmError):
            raise too_large("arms", shown.features) from None
        raise
    choices, found = np.empty(wanted, dtype=np.int64), np.empty(wanted)
    best = scores[draw].copy()
    choose_ranked(scores, draw, numbers[-wanted:], choosing.exploration, choices, found)
    if own and not choosing.draws:
        found[:] = np.nan
    decisions = []
    for index, propensity in zip(choices.tolist(), found.tolist(), strict=True):
        code = tasks.pending.hold(tasks.rows, slot, shown.features[index])
        decision = tasks.pending.id_of(code)
        decisions.append(Decision(decision, name, shown.id(index), index, best, propensity))
    stream.advance(len(numbers))
    choosing.names.note(shown.columns)
    return decisions


def n_numbers(choosing: Choosing, own: int, wanted: int) -> int:
    """How many uniform numbers a decision takes: m draws' own, which draw, and one per choice."""
    return choosing.n_draws(own) * own + (1 if own else 0) + wanted


def scores_of(
    tasks: Tasks,
    scoring: Scoring,
    choosing: Choosing,
    slot: int,
    shown: DecisionSet,
    numbers: Floats,
) -> tuple[Floats, int]:
    """The scores (m, K) of a task, −∞ where masked, and which of the m draws decides."""
    own = scoring.n_uniforms(len(shown.features))
    m = choosing.n_draws(own)
    scores = _scores(tasks, scoring, slot, shown, numbers[: m * own].reshape(m, own))
    scores[:, ~shown.allowed] = -np.inf
    return scores, chosen_draw(numbers, own, m)


def chosen_draw(numbers: Floats, own: int, m: int) -> int:
    """Which of m equally likely draws decides, by the uniform number after those of the draws."""
    return min(int(numbers[m * own] * m), m - 1) if own else 0


def _scores(
    tasks: Tasks, scoring: Scoring, slot: int, shown: DecisionSet, uniforms: Floats
) -> Floats:
    if shown.catalogue is not None and scoring.index is not None and tasks.estimate_is_kept:
        state, radius = tasks.layout.state(tasks.rows[slot]), scoring.radius(slot)
        return tasks.catalogue_scores.index(shown.catalogue, slot, state, radius)[None]
    return scoring.scores(slot, shown.features, uniforms)


def propensities(
    tasks: Tasks,
    scoring: Scoring,
    stream: UniformStream,
    choosing: Choosing,
    task: Name,
    arms: Arms | Catalogue,
    *,
    mask: Mask | None,
) -> Floats:
    """`MetaBandit.propensities`."""
    name = inputs.name_of(task)
    shown = decision_set(arms, choosing.names).masked(mask)
    own = scoring.n_uniforms(len(shown.features))
    if own and not choosing.draws:
        raise ValueError("propensities of a policy that samples need propensity_draws above 0")
    numbers = stream.peek(n_numbers(choosing, own, 0))
    opened = name not in tasks.slots
    slot = tasks.start(name)
    try:
        scores, _ = scores_of(tasks, scoring, choosing, slot, shown, numbers)
    except UnreadableArmError:
        raise too_large("arms", shown.features) from None
    finally:
        if opened:
            tasks.undo_opening(name)
    stream.advance(len(numbers))
    return first_propensities(scores, choosing.exploration)
