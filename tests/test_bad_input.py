"""Bad input: one sentence with the value and what was expected, and nothing changed."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

import headstart as hs
from headstart import checks
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.statistics import TaskStatistics
from headstart.core.task import Task
from headstart.environments import Basis, Gaussian, Synthetic
from headstart.learners.oful import paper_learners
from headstart.policies import OFUL, NormBound, Thompson
from headstart.priors import Average, Fixed, Pooled

NAN, INF = float("nan"), float("inf")
SKEW = np.array([[1.0, 0.25], [0.5, 1.0]])
INDEFINITE = np.array([[1.0, 2.0], [2.0, 1.0]])  # eigenvalues 3 and -1

ITL = hs.Learner("ITL", OFUL(), Fixed.zero())


def _raises(act: Callable[[], object], *words: str) -> None:
    """It raises one sentence that holds all the words: the offender, and what was expected."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        act()
    message = str(caught.value)
    for word in words:
        assert word in message, message
    assert "\n" not in message
    assert len(message) < 200


def _statistics(**changed: Any) -> TaskStatistics:
    good: dict[str, Any] = {
        "gram": np.eye(2),
        "moment": np.ones(2),
        "count": np.array(2.0),
        "sum_of_squares": np.array(3.0),
    }
    return TaskStatistics(**{**good, **changed})


def _task(**changed: Any) -> Task:
    good: dict[str, Any] = {
        "arms": np.ones((2, 3, 4, 5)),
        "rewards": np.ones((2, 3, 4)),
        "means": np.ones((2, 3, 4)),
        "parameter": np.ones((2, 5)),
    }
    return Task(**{**good, **changed})


def _with(array: Any, value: float) -> Any:
    changed = np.array(array, dtype=np.float64)
    changed.flat[-1] = value
    return changed


def _simulate(**changed: Any) -> object:
    good: dict[str, Any] = {"n_tasks": 1, "horizon": 2, "replications": 2, "workers": 1}
    environment = changed.pop("environment", Synthetic(dimension=3, n_arms=2))
    learners = changed.pop("learners", [ITL])
    return hs.simulate(environment, learners, **{**good, **changed})


def _evaluate(**changed: Any) -> object:
    return hs.evaluate(Synthetic(dimension=3), [ITL], **{"horizon": 2, "workers": 1, **changed})


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
@pytest.mark.parametrize("name", ["gram", "moment", "count", "sum_of_squares"])
def test_statistics_must_be_finite(name: str, bad: float) -> None:
    good = {"gram": np.eye(2), "moment": np.ones(2), "count": 2.0, "sum_of_squares": 3.0}
    _raises(lambda: _statistics(**{name: _with(good[name], bad)}), name, "finite", str(bad))


def test_the_place_of_a_nan_is_named() -> None:
    _raises(lambda: _statistics(gram=_with(np.eye(2), NAN)), "gram", "(1, 1)")


@pytest.mark.parametrize("bad", [NAN, INF])
def test_data_must_be_finite(bad: float) -> None:
    x, y = np.ones((3, 2)), np.ones(3)
    _raises(lambda: TaskStatistics.from_data(_with(x, bad), y), "features", "finite", str(bad))
    _raises(lambda: TaskStatistics.from_data(x, _with(y, bad)), "rewards", "finite", str(bad))


def test_statistics_must_fit_each_other() -> None:
    _raises(lambda: _statistics(gram=np.eye(3)), "gram", "(2, 2)", "(3, 3)")
    _raises(lambda: _statistics(count=np.ones(4)), "count", "()", "(4,)")
    _raises(lambda: _statistics(moment=np.array(1.0)), "moment", "(…, d)", "single number")
    _raises(lambda: _statistics(count=np.array(-1.0)), "count", "at least 0", "-1")
    _raises(
        lambda: _statistics(sum_of_squares=np.array(-0.5)), "sum_of_squares", "at least 0", "-0.5"
    )
    _raises(lambda: TaskStatistics.zeros(0), "dimension", "at least 1", "0")
    _raises(
        lambda: TaskStatistics.from_data(np.ones((3, 2)), np.ones(4)), "rewards", "(3,)", "(4,)"
    )
    _raises(
        lambda: TaskStatistics.from_data(np.ones(3), np.ones(3)), "features", "(…, T, d)", "(3,)"
    )
    _raises(lambda: TaskStatistics.from_data([["a"]], [1.0]), "features", "numbers", "'a'")
    _raises(
        lambda: TaskStatistics.from_data([[1.0], [1.0, 2.0]], [1.0, 2.0]), "features", "numbers"
    )


REGULARIZED: dict[str, Callable[[Any], object]] = {
    "Prior": lambda value: Prior(np.zeros(2), value),
    "Prior with leading axes": lambda value: Prior(np.zeros((3, 2)), value),
    "Fixed": lambda value: Fixed(regularization=value),
    "Average": lambda value: Average(regularization=value),
    "Average's own": lambda value: Average(estimation_regularization=value),
    "Pooled": lambda value: Pooled(regularization=value),
    "Pooled's own": lambda value: Pooled(estimation_regularization=value),
}


@pytest.mark.parametrize("make", REGULARIZED.values(), ids=REGULARIZED.keys())
def test_regularization_must_be_positive_and_symmetric(make: Callable[[Any], object]) -> None:
    for value in (0.0, -2.5):
        _raises(partial(make, np.array(value)), "regularization", "above 0", str(value))
    for value in (NAN, INF):
        _raises(partial(make, np.array(value)), "regularization", "finite", str(value))
    _raises(lambda: make(SKEW), "regularization", "symmetric", "0.25", "0.5")
    _raises(lambda: make(INDEFINITE), "regularization", "positive definite", "-1")
    _raises(lambda: make(np.zeros((2, 2))), "regularization", "positive definite", "0")
    _raises(lambda: make(_with(np.eye(2), NAN)), "regularization", "finite", "nan")
    _raises(lambda: make(np.ones((2, 3))), "regularization", "(2, 3)")


@pytest.mark.parametrize("kind", [Average, Pooled])
def test_unknown_words_for_a_regularization(kind: type) -> None:
    _raises(
        lambda: kind(estimation_regularization="equal"),
        "estimation_regularization",
        "same",
        "equal",
    )
    _raises(lambda: kind(regularization="same"), "regularization", "number", "'same'")


def test_prior_shapes() -> None:
    _raises(lambda: Prior(np.array(1.0), np.array(1.0)), "bias", "(…, d)", "1.0")
    _raises(lambda: Prior(_with(np.ones(3), NAN), np.array(1.0)), "bias", "finite", "nan", "(2,)")
    _raises(lambda: Prior(np.ones((3, 2)), np.ones(4)), "regularization", "(3,)", "(4,)")
    _raises(lambda: Prior(np.ones((3, 2)), np.array([1.0, 1.0, 0.0])), "regularization", "above 0")


def test_a_prior_must_fit_the_statistics() -> None:
    prior = Prior.zero(3, regularization=1.0)
    _raises(lambda: RidgeEstimate(TaskStatistics.zeros(2), prior), "bias", "(2,)", "(3,)")


def test_fixed_bias() -> None:
    _raises(lambda: Fixed(bias=2.0), "bias", "vector", "2.0")
    _raises(lambda: Fixed(bias=[1.0, NAN]), "bias", "finite", "nan")
    _raises(lambda: Fixed(bias=[1.0, 2.0]).empty(3), "bias", "3", "(2,)")
    _raises(lambda: Fixed(bias=np.ones((4, 3))).empty(3, (2,)), "bias", "(2, 3)", "(4, 3)")
    _raises(
        lambda: _simulate(learners=[hs.Learner("it", OFUL(), Fixed(bias=[1.0, 2.0]))]), "bias", "3"
    )


def test_arms() -> None:
    estimate = RidgeEstimate(TaskStatistics.zeros(2), Prior.zero(2, regularization=1.0))
    for ask in (estimate.predict, estimate.widths, estimate.read):
        _raises(partial(ask, np.empty((0, 2))), "arms", "at least one", "none")
        _raises(partial(ask, np.ones((3, 5))), "arms", "(3, 2)", "(3, 5)")
        _raises(partial(ask, [[1.0, INF]]), "arms", "finite", "inf", "(0, 1)")
        _raises(partial(ask, np.ones(2)), "arms", "(…, K, d)", "(2,)")
    _raises(
        lambda: estimate.contains([1.0, NAN], noise_scale=1.0, failure_probability=0.1),
        "parameter",
        "finite",
    )


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
@pytest.mark.parametrize("name", ["arms", "rewards", "means", "parameter"])
def test_tasks_must_be_finite(name: str, bad: float) -> None:
    good = getattr(_task(), name)
    _raises(lambda: _task(**{name: _with(good, bad)}), name, "finite", str(bad))


def test_task_shapes() -> None:
    _raises(lambda: _task(arms=np.ones((2, 3, 0, 5))), "arms", "at least one", "(2, 3, 0, 5)")
    _raises(lambda: _task(arms=np.ones((2, 0, 4, 5))), "arms", "at least one", "(2, 0, 4, 5)")
    _raises(lambda: _task(arms=np.ones((4, 5))), "arms", "(…, T, K, d)", "(4, 5)")
    _raises(lambda: _task(rewards=np.ones((2, 3, 5))), "rewards", "(2, 3, 4)", "(2, 3, 5)")
    _raises(lambda: _task(means=np.ones((2, 4))), "means", "(2, 3, 4)", "(2, 4)")
    _raises(lambda: _task(parameter=np.ones(5)), "parameter", "(2, 5)", "(5,)")


NUMBERS: list[tuple[Callable[..., object], str, list[Any]]] = [
    (OFUL, "noise_scale", [-1.0, NAN, INF, "1"]),
    (OFUL, "failure_probability", [0.0, 1.0, 1.5, -0.1, NAN, None]),
    (OFUL, "bias_error", [-1.0, NAN, INF, "split"]),
    (OFUL, "scale", [-1.0, NAN, INF, True]),
    (NormBound, "parameter_bound", [-1.0, NAN, INF]),
    (Thompson, "noise_scale", [-1.0, NAN, INF]),
    (Thompson, "scale", [-1.0, NAN, INF]),
    (Synthetic, "dimension", [0, -1, 2.5, "20", True]),
    (Synthetic, "n_arms", [0, 1.5]),
    (Gaussian, "variance", [-1.0, NAN, INF]),
    (Basis, "size", [-1.0, 0.0, NAN]),
    (Synthetic, "spread", [-0.1, NAN]),
    (Synthetic, "noise_scale", [-0.1, INF]),
    (Synthetic, "reward", ["binary", ""]),
]


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [(make, name, value) for make, name, values in NUMBERS for value in values],
)
def test_settings_are_checked(make: Callable[..., object], name: str, value: Any) -> None:
    _raises(lambda: make(**{name: value}), name, "must be", repr(value))


def test_an_error_for_an_unknown_name_lists_the_known() -> None:
    package: Any = hs  # type checkers see what there is
    unknown: Any = "binary"
    _raises(lambda: Synthetic(reward=unknown), "linear, winner", "'binary'")
    _raises(lambda: checks.one_of("study", "mars", ["synthetic", "lastfm"]), "lastfm, synthetic")
    with pytest.raises(AttributeError, match="bandits"):
        package.bandits  # noqa: B018


def test_synthetic_mean() -> None:
    _raises(lambda: Synthetic(dimension=3, tasks=Gaussian(mean=[1.0, 2.0])), "mean", "(3,)", "(2,)")
    _raises(lambda: Gaussian(mean=[1.0, NAN]), "mean", "finite", "nan")


def test_sampling() -> None:
    rng = np.random.default_rng(0)
    _raises(lambda: Synthetic().sample(0, 2, rng), "horizon", "at least 1", "0")
    _raises(lambda: Synthetic().sample(2, 0, rng), "replications", "at least 1", "0")
    prepared = Synthetic().prepare(3, rng)
    _raises(lambda: prepared.sample(2, 4, rng), "replications", "3", "4")


@pytest.mark.parametrize("name", ["n_tasks", "horizon", "replications", "workers"])
@pytest.mark.parametrize("value", [0, -3, 1.0, "2", True])
def test_counts_of_a_simulation(name: str, value: Any) -> None:
    _raises(lambda: _simulate(**{name: value}), name, "at least 1", repr(value))


@pytest.mark.parametrize("value", [-1, 0.5])
def test_the_seed_of_a_simulation(value: Any) -> None:
    _raises(lambda: _simulate(seed=value), "seed", "at least 0", repr(value))


def test_counts_of_an_evaluation() -> None:
    _raises(lambda: _evaluate(n_training_tasks=-1), "n_training_tasks", "at least 0", "-1")
    _raises(lambda: _evaluate(n_test_tasks=0), "n_test_tasks", "at least 1", "0")
    _raises(lambda: _evaluate(horizon=0), "horizon", "at least 1", "0")


def test_learners() -> None:
    _raises(lambda: _simulate(learners=[]), "at least one", "none")
    _raises(lambda: _simulate(learners=[ITL, ITL]), "different names", "ITL")
    _raises(lambda: _simulate(learners=["ITL"]), "Learner", "'ITL'")
    few = partial(paper_learners, policy=OFUL(), mean_parameter=[1.0])
    _raises(lambda: few(regularization=-1.0), "regularization", "above 0", "-1")


@dataclass
class _Wrong:
    """An environment that does not keep its word, and counts how often it is asked."""

    shape: tuple[int, int, int, int]
    dimension: Any = 3
    asked: int = 0

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> Task:
        self.asked += 1
        arms = np.ones(self.shape)
        return Task(arms=arms, rewards=arms[..., 0], means=arms[..., 0])


@pytest.mark.parametrize("shape", [(3, 2, 4, 3), (2, 5, 4, 3), (2, 2, 4, 7)])
def test_tasks_of_other_shapes_are_refused(shape: tuple[int, int, int, int]) -> None:
    # Two replications of two rounds in three dimensions are asked for.
    wrong = next(i for i, size in enumerate((2, 2, None, 3)) if size not in (None, shape[i]))
    asked = {0: "replications (2,)", 1: "horizon 2", 3: "dimension 3"}[wrong]
    _raises(lambda: _simulate(environment=_Wrong(shape)), asked, str(shape))


def test_an_environment_without_a_dimension() -> None:
    _raises(lambda: _simulate(environment=_Wrong((2, 2, 4, 3), dimension=0)), "dimension", "0")


def test_settings_are_checked_before_anything_is_drawn() -> None:
    environment = _Wrong((2, 2, 4, 3))
    for wrong in ({"horizon": 0}, {"replications": 0}, {"n_tasks": 0}, {"learners": [ITL, ITL]}):
        _raises(partial(_simulate, environment=environment, **wrong), "")
    assert environment.asked == 0


def test_statistics_of_other_shapes_do_not_add() -> None:
    # One feature would broadcast over three.
    for dimension in (1, 2):
        other = TaskStatistics.zeros(dimension)
        _raises(
            partial(TaskStatistics.__add__, other, TaskStatistics.zeros(3)),
            "moment",
            "(3,)",
            f"({dimension},)",
        )


@pytest.mark.parametrize("estimator", [Average(), Pooled()], ids=["Average", "Pooled"])
@pytest.mark.parametrize("dimension", [1, 3])
def test_nothing_changes_when_statistics_do_not_fit(
    estimator: Average | Pooled, dimension: int
) -> None:
    memory = estimator.absorb(estimator.empty(2), _statistics())
    before = {name: np.array(array) for name, array in memory.items()}
    other = TaskStatistics.zeros(dimension)
    _raises(lambda: estimator.absorb(memory, other), "(2,)", f"({dimension},)")
    for name, array in before.items():
        np.testing.assert_array_equal(memory[name], array)


@pytest.mark.parametrize("kind", [Average, Pooled])
def test_a_matrix_of_the_wrong_dimension_is_found_at_the_first_task(kind: type) -> None:
    learner = hs.Learner("it", OFUL(), kind(regularization=np.eye(2)))
    _raises(lambda: _simulate(learners=[learner]), "regularization", "(2, 2)")
