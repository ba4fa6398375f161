"""Groups of users: all of them, near neighbours, clusters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.environments import AllUsers, Clusters, Nearest
from headstart.environments.ratings.grouping import Grouping

# Three far blobs of 12, 9 and 4 users.
CENTRES = np.array([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0]])
BLOB = np.repeat([0, 1, 2], [12, 9, 4])
VECTORS = CENTRES[BLOB] + np.random.default_rng(0).normal(size=(25, 2))
ALL = np.arange(25)


@pytest.mark.parametrize(
    "grouping", [AllUsers(), Nearest(n_users=6), Clusters(n_clusters=3, least_users=3)]
)
@given(seed=st.integers(0, 1000), data=st.data())
def test_groups_hold_eligible_users_once_each(
    grouping: Grouping, seed: int, data: st.DataObject
) -> None:
    excluded = data.draw(st.sets(st.integers(0, 24), max_size=5))
    eligible = np.array(sorted(set(range(25)) - excluded))
    groups = grouping.sample(VECTORS, eligible, 4, np.random.default_rng(seed))
    again = grouping.sample(VECTORS, eligible, 4, np.random.default_rng(seed))
    assert len(groups) == 4
    for group, same in zip(groups, again, strict=True):
        assert len(set(group)) == len(group)
        assert set(group) <= set(eligible)
        np.testing.assert_array_equal(group, same)


def test_all_users_are_all_users_in_another_order() -> None:
    one, two = AllUsers().sample(VECTORS, ALL, 2, np.random.default_rng(0))
    assert set(one) == set(two) == set(ALL)
    assert not np.array_equal(one, two)


@given(st.integers(0, 1000))
def test_nearest_are_some_users_nearest(seed: int) -> None:
    (group,) = Nearest(n_users=5).sample(VECTORS, ALL, 1, np.random.default_rng(seed))
    nearest = [set(np.argsort(np.linalg.norm(VECTORS - vector, axis=1))[:5]) for vector in VECTORS]
    assert set(group) in nearest


def test_a_seed_user_is_in_its_group_even_among_duplicates() -> None:
    duplicates = np.zeros((10, 2))
    firsts = {
        frozenset(map(int, group))
        for group in Nearest(n_users=1).sample(duplicates, ALL[:10], 200, np.random.default_rng(0))
    }
    assert firsts == {frozenset({user}) for user in range(10)}


def test_too_few_users_for_the_neighbours_are_refused() -> None:
    with pytest.raises(ValueError, match=r"n_users must be at most 25, .* got 26"):
        Nearest(n_users=26).sample(VECTORS, ALL, 1, np.random.default_rng(0))


def test_clusters_take_turns() -> None:
    grouping = Clusters(n_clusters=3, least_users=9, n_clusterings=2)
    members = grouping.members(VECTORS, ALL)
    # The blob of four is too small; the two clusterings agree, and the same users count once.
    assert sorted(len(users) for users in members) == [9, 12]
    groups = grouping.sample(VECTORS, ALL, 5, np.random.default_rng(0))
    for r, group in enumerate(groups):
        assert set(group) == set(members[r % 2])
        assert len({BLOB[user] for user in group}) == 1
    assert not np.array_equal(groups[0], groups[2])


def test_a_clusters_silhouette_is_the_mean_of_its_users() -> None:
    labels, silhouettes = Clusters(n_clusters=3, n_clusterings=1).clusterings(VECTORS)[0]
    distance = np.linalg.norm(VECTORS[:, None] - VECTORS, axis=-1)
    for k in range(3):
        own = np.flatnonzero(labels == k)
        each = []
        for user in own:
            inside = distance[user, own].sum() / (len(own) - 1)
            outside = min(
                distance[user, labels == other].mean() for other in range(3) if other != k
            )
            each.append((outside - inside) / max(outside, inside))
        assert silhouettes[k] == pytest.approx(np.mean(each))


def test_loose_clusters_are_refused() -> None:
    grouping = Clusters(n_clusters=3, least_users=3, least_silhouette=0.9999)
    with pytest.raises(ValueError, match=r"leave none of 30 clusters \(the best .* 0.9"):
        grouping.sample(VECTORS, ALL, 1, np.random.default_rng(0))
    with pytest.raises(ValueError, match="n_clusters must be below the number of users, 25"):
        Clusters(n_clusters=25).sample(VECTORS, ALL, 1, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (Nearest, {"n_users": 0}, "n_users must be an integer of at least 1"),
        (Clusters, {"n_clusters": 1}, "n_clusters must be an integer of at least 2"),
        (Clusters, {"least_users": 0}, "least_users must be"),
        (Clusters, {"least_silhouette": 2.0}, "least_silhouette must be from -1 to 1, got 2.0"),
        (Clusters, {"n_clusterings": 0}, "n_clusterings must be"),
        (Clusters, {"seed": -1}, "seed must be"),
    ],
)
def test_bad_settings_are_named(kind: type, settings: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind(**settings)


def test_clusters_that_share_half_their_users_are_one_cohort(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The first two share 3 of 6 users; the third shares one with the second and 4 with the last.
    members = [np.arange(6), np.arange(3, 9), np.arange(8, 14), np.arange(9, 13)]
    monkeypatch.setattr(Clusters, "members", lambda *_: members)
    found = Clusters().cohorts(VECTORS, ALL, 6)
    np.testing.assert_array_equal(found, [0, 0, 1, 1, 0, 0])


def test_cohorts_are_transitive(monkeypatch: pytest.MonkeyPatch) -> None:
    # The first and the last share no user, but both share half with the one between them.
    members = [np.arange(4), np.arange(4, 8), np.arange(2, 6)]
    monkeypatch.setattr(Clusters, "members", lambda *_: members)
    np.testing.assert_array_equal(Clusters().cohorts(VECTORS, ALL, 3), [0, 0, 0])


def test_clusters_of_one_clustering_are_one_cohort_each() -> None:
    found = Clusters(n_clusters=3, least_users=3, n_clusterings=1).cohorts(VECTORS, ALL, 7)
    np.testing.assert_array_equal(found, [0, 1, 2, 0, 1, 2, 0])
