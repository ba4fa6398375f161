"""Tasks that another store keeps decide, learn and teach as those of a MetaBandit do."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headstart as hs
from headstart.arrays import Floats
from headstart.live.outcomes import Outcome
from headstart.live.settings import Settings
from headstart.live.stored import (
    FeatureNames,
    Model,
    StoredMemory,
    StoredTask,
    StoredTasks,
    decision_set,
    recount,
    statistics_of,
)

D = 4
Rounds = dict[int, list[tuple[Floats, float]]]


def model(**options: object) -> Model:
    given = Settings.from_options(lambda: 0.0, refresh="background", **options)
    return Model(
        dimension=D,
        policy=hs.policies.BayesUCB(z="slow"),
        prior=hs.priors.Hierarchical(),
        settings=given,
        feature_names=FeatureNames(D),
    )


def rounds_of(n_tasks: int, n_rounds: int, seed: int) -> Rounds:
    rng = np.random.default_rng(seed)
    found: Rounds = {}
    for task in range(n_tasks):
        w = 1.0 + 0.3 * rng.normal(size=D)
        x = rng.normal(size=(n_rounds, D))
        y = x @ w + rng.normal(size=n_rounds)
        found[task] = list(zip(x, y.tolist(), strict=True))
    return found


def states_of(rows: StoredTasks, rounds: Rounds) -> dict[int, bytes]:
    for task, own in rounds.items():
        rows.open(task)
        for x, y in own:
            assert rows.learn(task, x, y, 1.0) is Outcome.PAID
    return {task: rows.state(task) for task in rounds}


def taught(rounds: Rounds) -> hs.MetaBandit:
    bandit = hs.MetaBandit(dimension=D, prior=hs.priors.Hierarchical(), seed=0)
    for task, own in rounds.items():
        for x, y in own:
            bandit.observe(task, x, y)
    return bandit


def counted(states: dict[int, bytes], contributions: dict[int, bytes | None]) -> list[StoredTask]:
    return [
        StoredTask(task=task, state=state, contribution=contributions.get(task))
        for task, state in states.items()
    ]


def test_recounting_in_parts_gives_the_prior_of_a_bandit_that_saw_everything() -> None:
    m, rounds = model(), rounds_of(12, 6, seed=1)
    states, memory = states_of(StoredTasks(m), rounds), StoredMemory.empty(m)
    for start in range(0, 12, 4):
        part = {task: states[task] for task in range(start, start + 4)}
        memory = recount(m, memory, counted(part, {})).memory
    found, expected = memory.learned(m), taught(rounds).learned()
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-9)
    np.testing.assert_allclose(found.spread, expected.spread, rtol=1e-9)
    assert found.n_tasks == expected.n_tasks == 12


def test_a_task_that_changed_is_counted_once() -> None:
    m, first, second = model(), rounds_of(8, 5, seed=2), rounds_of(8, 9, seed=3)
    rows = StoredTasks(m)
    states = states_of(rows, first)
    before = recount(m, StoredMemory.empty(m), counted(states, {}))
    for task, own in second.items():
        for x, y in own:
            rows.learn(task, x, y, 1.0)
    states = {task: rows.state(task) for task in states}
    after = recount(m, before.memory, counted(states, before.contributions))
    both = {task: first[task] + second[task] for task in first}
    np.testing.assert_allclose(after.memory.learned(m).mean, taught(both).learned().mean, rtol=1e-8)


def test_erasing_leaves_what_the_others_taught() -> None:
    m, rounds = model(), rounds_of(9, 6, seed=4)
    states = states_of(StoredTasks(m), rounds)
    whole = recount(m, StoredMemory.empty(m), counted(states, {}))
    gone = whole.contributions[3]
    assert gone is not None
    left = recount(m, whole.memory, [], erased=[gone]).memory
    expected = taught({task: own for task, own in rounds.items() if task != 3}).learned()
    np.testing.assert_allclose(left.learned(m).mean, expected.mean, rtol=1e-7)
    assert left.state.n_tasks == 8


def test_nothing_is_left_of_an_erased_task_with_large_rewards() -> None:
    m, rounds = model(), rounds_of(30, 6, seed=10)
    rounds[30] = [(x, 500.0 * y) for x, y in rounds[0]]
    states = states_of(StoredTasks(m), rounds)
    whole = recount(m, StoredMemory.empty(m), counted(states, {}))
    gone = whole.contributions[30]
    assert gone is not None
    left = recount(m, whole.memory, [], erased=[gone]).memory.learned(m)
    expected = taught({task: own for task, own in rounds.items() if task != 30}).learned()
    # With the task the spread is above 10. A fit that begins anew may find another number of
    # directions: the spreads differ by less than a factor of two, the means by a tenth of them.
    assert whole.memory.learned(m).spread.max() > 10.0
    np.testing.assert_allclose(left.mean, expected.mean, atol=0.1 * expected.spread.min())
    assert (left.spread < 2.0 * expected.spread).all()


def test_memories_of_logs_count_beside_the_tasks() -> None:
    m, rounds = model(scales=None), rounds_of(10, 6, seed=5)
    states = states_of(StoredTasks(m), rounds)
    parts = [{t: states[t] for t in range(5)}, {t: states[t] for t in range(5, 10)}]
    one, two = (recount(m, StoredMemory.empty(m), counted(part, {})).memory for part in parts)
    expected = recount(m, StoredMemory.empty(m), counted(states, {})).memory.learned(m)
    np.testing.assert_allclose(one.merged([two], m).learned(m).mean, expected.mean, rtol=1e-8)


def test_a_task_that_moves_does_not_learn_from_itself() -> None:
    m, rounds = model(), rounds_of(10, 6, seed=6)
    rows = StoredTasks(m)
    states = states_of(rows, rounds)
    found = recount(m, StoredMemory.empty(m), counted(states, {}))
    assert set(found.moved) == set(rounds)  # all began without a prior
    others = {task: own for task, own in rounds.items() if task != 7}
    expected = taught(others).next_prior()
    rows.load(7, found.moved[7])
    prior = rows.view(7).estimate.prior
    # The row's prior is revised by its own rewards among the same components.
    assert np.abs(prior.bias - expected.bias).max() < 0.2
    np.testing.assert_allclose(
        statistics_of(found.moved[7], D).gram, statistics_of(states[7], D).gram, rtol=1e-12
    )


def test_control_tasks_keep_their_prior_and_teach() -> None:
    m, rounds = model(), rounds_of(6, 5, seed=7)
    states = states_of(StoredTasks(m), rounds)
    tasks = [
        StoredTask(task=task, state=state, contribution=None, control=task < 3)
        for task, state in states.items()
    ]
    found = recount(m, StoredMemory.empty(m), tasks)
    assert set(found.moved) == {3, 4, 5}
    assert found.memory.state.n_tasks == 6


@given(st.integers(0, 12), st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_a_task_that_was_stored_goes_on_as_if_it_had_stayed(n_rounds: int, seed: int) -> None:
    m, rounds = model(), rounds_of(1, n_rounds, seed)
    kept, loaded = StoredTasks(m), StoredTasks(m)
    state = states_of(kept, rounds)[0]
    loaded.load(0, state)
    assert loaded.state(0) == state
    arms = np.random.default_rng(seed).normal(size=(5, D))
    # Where nothing is known the arms are equally good, and either may be chosen.
    shown = decision_set(arms[:1] if n_rounds == 0 else arms, m.feature_names)
    one, two = kept.choose([0], [shown]), loaded.choose([0], [shown])
    assert one.indices.tolist() == two.indices.tolist()
    np.testing.assert_allclose(one.means, two.means, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.halves, two.halves, rtol=1e-9)
    x = one.features[0]
    np.testing.assert_allclose(x, arms[one.indices[0]])
    np.testing.assert_allclose((one.from_prior + one.from_rewards).sum(), one.means[0], atol=1e-12)
    low, high = kept.view(0).interval(x)
    ends = [one.means[0] - one.halves[0], one.means[0] + one.halves[0]]
    np.testing.assert_allclose([low, high], ends)


def test_a_task_without_rewards_keeps_the_prior_that_it_started_from() -> None:
    m, kept, loaded = model(), StoredTasks(model()), StoredTasks(model())
    kept.open(0)
    rounds = rounds_of(8, 6, seed=3)
    tasks = counted(states_of(StoredTasks(m), rounds), {})
    loaded.install(recount(m, StoredMemory.empty(m), tasks).memory)
    loaded.load(0, kept.state(0))
    loaded.open(1)
    shown = decision_set(np.eye(D)[:1], m.feature_names)
    cold, same, warm = (
        rows.choose([task], [shown]).halves[0]
        for rows, task in ((kept, 0), (loaded, 0), (loaded, 1))
    )
    assert same == pytest.approx(cold, rel=1e-12)
    assert warm < 0.9 * cold


def test_a_state_that_is_too_short_is_refused() -> None:
    rows = StoredTasks(model())
    rows.open(7)
    state = rows.state(7)
    with pytest.raises(ValueError, match=f"{len(state)} bytes or more, got {len(state) - 8}"):
        rows.load(7, state[:-8])
    assert rows.state(7) == state


def test_ranked_choices_are_different_arms() -> None:
    m = model()
    rows = StoredTasks(m)
    rows.open(1)
    shown = decision_set(np.random.default_rng(0).normal(size=(6, D)), m.feature_names)
    chosen = rows.choose_ranked(1, shown, 4)
    assert len(set(chosen.indices.tolist())) == 4
    with pytest.raises(ValueError, match="at most the 6 available arms, got 7"):
        rows.choose_ranked(1, shown, 7)


def test_a_memory_goes_to_bytes_and_back() -> None:
    m, rounds = model(), rounds_of(5, 8, seed=8)
    memory = recount(
        m, StoredMemory.empty(m), counted(states_of(StoredTasks(m), rounds), {})
    ).memory
    again = StoredMemory.from_bytes(memory.to_bytes(), m)
    np.testing.assert_array_equal(again.learned(m).mean, memory.learned(m).mean)
    assert again.scales_known == memory.scales_known
    with pytest.raises(ValueError, match="the memory must be one that was stored"):
        StoredMemory.from_bytes(b"nothing", m)


def test_bytes_of_another_dimension_are_refused() -> None:
    rows = StoredTasks(model())
    with pytest.raises(ValueError, match="the state of a task must have"):
        rows.load(1, b"\0" * 80)


def test_a_bias_that_moves_is_refused() -> None:
    m = model()
    moving = Model(
        dimension=D,
        policy=m.policy,
        prior=hs.priors.Average(regularization=1.0),
        settings=m.settings,
        feature_names=m.feature_names,
    )
    with pytest.raises(ValueError, match="must not move its bias within a task"):
        StoredTasks(moving)


def test_a_task_that_was_set_aside_is_not_taken_out_when_it_moves() -> None:
    m, rounds = model(), rounds_of(10, 6, seed=9)
    states = states_of(StoredTasks(m), rounds)
    memory = recount(m, StoredMemory.empty(m), counted(states, {})).memory
    aside = states_of(StoredTasks(m), {10: [(x, 1e9 * y) for x, y in rounds[0]]})[10]
    task = StoredTask(task=10, state=aside, contribution=None)
    found = recount(m, memory, [task])
    assert found.contributions == {10: None}
    again = recount(m, found.memory, [replace(task, changed=False, moves=True)])
    assert again.contributions == {10: None}
    assert again.memory.state.n_tasks == 10
    assert set(again.moved) == {10}
