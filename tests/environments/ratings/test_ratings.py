"""Ratings as an environment: users as tasks, their arms, their rewards."""

from functools import partial
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from tests.rated import as_table, random_table

import headstart as hs
from headstart.environments import Clusters, Nearest, Ratings

TABLE = random_table(users=30, items=25, seed=1)


def _environment(**settings: Any) -> Ratings:
    return Ratings(**{"table": TABLE, "dimension": 4, "n_arms": 4, **settings})


@given(st.integers(0, 1000), st.sampled_from(["winner", "linear"]), st.booleans())
def test_a_task_is_a_user_and_its_arms_are_items(seed: int, reward: str, unit: bool) -> None:
    environment = _environment(reward=reward, unit_arms=unit)
    prepared = environment.prepare(3, np.random.default_rng(seed))
    task = prepared.sample(6, 3, np.random.default_rng(seed + 1))
    users, items = environment.embedding.users, environment.embedding.items
    matrix = environment.filtered.matrix().toarray()
    assert task.parameter is not None
    for r in range(3):
        user = prepared.groups[r][0]
        np.testing.assert_array_equal(task.parameter[r], users[user])
        for t in range(6):
            which = [int(np.flatnonzero((items == arm).all(1))[0]) for arm in task.arms[r, t]]
            ratings = matrix[user, which]
            assert sorted(ratings >= 4) == [False, False, False, True]
            assert (ratings[ratings < 4] <= 3).all()
    if reward == "winner":
        assert ((task.means >= 0) & (task.means <= 1)).all()
        np.testing.assert_allclose(task.means.sum(-1), 1.0, atol=1e-6)
        np.testing.assert_array_equal(task.rewards.sum(-1), 1.0)
    else:
        np.testing.assert_allclose(
            task.means, (task.arms @ task.parameter[:, None, :, None])[..., 0]
        )


def test_tasks_are_every_user_of_a_group_once() -> None:
    environment = _environment(grouping=Nearest(n_users=7))
    prepared = environment.prepare(5, np.random.default_rng(0))
    parameters = []
    for j in range(prepared.n_tasks):
        parameter = prepared.sample(2, 5, np.random.default_rng(j), number=j).parameter
        assert parameter is not None
        parameters.append(parameter)
    visited = np.stack(parameters, axis=1)
    assert visited.shape == (5, 7, 4)
    for r in range(5):
        assert len(np.unique(visited[r], axis=0)) == 7
    # Their mean is what the Oracle knows.
    np.testing.assert_allclose(visited.mean(1), prepared.mean_parameter)
    for wrong in (7, -8):
        with pytest.raises(ValueError, match=rf"number must be from -7 to 6, .* got {wrong}"):
            prepared.sample(2, 5, np.random.default_rng(0), number=wrong)
    last = prepared.sample(2, 5, np.random.default_rng(1), number=-1).parameter
    np.testing.assert_array_equal(last, parameters[6])


def test_sizes_are_checked() -> None:
    prepared = _environment().prepare(2, np.random.default_rng(0))
    with pytest.raises(ValueError, match="replications must be 2, as prepared"):
        prepared.sample(3, 4, np.random.default_rng(1))
    with pytest.raises(ValueError, match="horizon must be"):
        prepared.sample(0, 2, np.random.default_rng(1))


def test_tests_are_the_same_users_after_any_training() -> None:
    environment = _environment(grouping=Nearest(n_users=9))
    learners = [hs.learners.itl(), hs.learners.rr_oful()]
    run = partial(hs.evaluate, environment, learners, n_test_tasks=3, horizon=4, replications=3)
    both, alone = run(n_training_tasks=[2, 5]), run(n_training_tasks=2)
    xr.testing.assert_equal(both.sel(trained=[2]), alone)
    run(n_training_tasks=6)
    with pytest.raises(ValueError, match="the environment has 9 tasks, got 10 to play"):
        run(n_training_tasks=7)


def test_simulate_plays_the_users_of_the_groups_in_turn() -> None:
    learners = [hs.Learner("ITL", hs.policies.OFUL(), hs.priors.Fixed.zero())]
    environment = _environment(grouping=Nearest(n_users=6))
    run = partial(hs.simulate, environment, learners, horizon=3, replications=4, seed=1)
    one, two = run(n_tasks=6), run(n_tasks=6)
    np.testing.assert_array_equal(one["reward"].to_numpy(), two["reward"].to_numpy())
    with pytest.raises(ValueError, match="the environment has 6 tasks, got 7 to play"):
        run(n_tasks=7)


def test_users_without_arms_are_not_eligible() -> None:
    # User 0 likes nothing, user 1 dislikes nothing; the others are eligible.
    rows = [(0, i, 1) for i in range(6)] + [(1, i, 5) for i in range(6)]
    rows += [(u, i, 5 if i < 2 else 1) for u in range(2, 6) for i in range(6)]
    environment = Ratings(table=as_table(rows), dimension=2, n_arms=3)
    assert list(environment.decision_sets.eligible) == [2, 3, 4, 5]
    prepared = environment.prepare(2, np.random.default_rng(0))
    assert prepared.n_tasks == 4
    empty = Ratings(table=as_table(rows[:12]), dimension=1, n_arms=3)
    with pytest.raises(ValueError, match=r"must have a user with an item rated at least 4.0 and 2"):
        empty.prepare(1, np.random.default_rng(0))


def test_clusters_are_counted_for_a_grouping_by_clusters_only() -> None:
    grouping = Clusters(n_clusters=2, least_users=2, least_silhouette=-1.0, n_clusterings=1)
    assert _environment(grouping=grouping).clusters == 2
    with pytest.raises(ValueError, match="grouping must be Clusters"):
        _ = _environment().clusters


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"liked": 3.0}, "disliked must be below liked=3.0, got 3.0"),
        ({"n_arms": 1}, "n_arms must be an integer of at least 2, got 1"),
        ({"dimension": 0}, "dimension must be an integer of at least 1"),
        ({"features": "both"}, "features must be one of items-scaled, users-scaled, got 'both'"),
        ({"transform": "root"}, "transform must be one of log, raw, got 'root'"),
        ({"reward": "loss"}, "reward must be one of linear, winner"),
        ({"shift": "task"}, "shift must be one of none, round"),
        ({"noise_scale": -1.0}, "noise_scale must be"),
        ({"min_user_ratings": -1}, "min_user_ratings must be"),
        ({"min_item_ratings": 0.5}, "min_item_ratings must be"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _environment(**settings)


def test_user_attributes_are_the_tasks_side_information() -> None:
    attributes = {int(user): [float(user), 1.0] for user in TABLE.user_names}
    environment = _environment(user_attributes=attributes)
    prepared = environment.prepare(3, np.random.default_rng(0))
    task = prepared.sample(2, 3, np.random.default_rng(1))
    assert task.about is not None
    users = [environment.filtered.user_names[group[0]] for group in prepared.groups]
    np.testing.assert_array_equal(task.about[:, 0], users)
    with pytest.raises(ValueError, match="must include every user, got none for"):
        _environment(user_attributes={})
    attributes[int(TABLE.user_names[3])] = [1.0]
    with pytest.raises(ValueError, match=r"equally many numbers .* got shapes \(2,\) and \(1,\)"):
        _environment(user_attributes=attributes)
