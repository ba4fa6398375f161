"""The policy and the prior of a bandit that was given none."""

import pytest

import headstart as hs

SEGMENT = hs.Category("segment", levels=["new", "old"])
BRAND = hs.Category("brand", levels=["acme", "zeta"])


@pytest.mark.parametrize(
    ("about", "cross", "n_about"),
    [
        ([], [], 0),
        ([SEGMENT], [], 3),  # two levels, and one column for all others
        ([SEGMENT], [("segment", "brand")], 0),
        ([SEGMENT, hs.Flag("member")], [("segment", "brand")], 4),
        ([hs.Category("country")], [], 32),
        ([hs.Category("country", buckets=100)], [], 0),  # 100·4 coefficients are too many
    ],
)
def test_attributes_of_tasks_that_are_not_crossed_are_side_information(
    about: list[hs.Category], cross: list[tuple[str, str]], n_about: int
) -> None:
    bandit = hs.MetaBandit(features=hs.Features(item=[BRAND], about=about, cross=cross))
    assert bandit.prior == hs.priors.Hierarchical(n_about=n_about, _least_signal=0.1)


def test_the_mean_task_is_explored() -> None:
    assert hs.MetaBandit(dimension=2).policy == hs.policies.BayesUCB(z="slow", z_mean="arms")
