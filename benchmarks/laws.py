"""Laws of tasks that the hierarchical model does not expect, on the paper's synthetic arms."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from headstart.arrays import Floats
from headstart.core.task import Task
from headstart.environments import Synthetic
from headstart.environments.synthetic import PreparedSynthetic

# Deviations from the mean task, (R, d), given the task's number from 0, what is drawn once a
# replication, (R, d, d), and luck.
Draw = Callable[[int, Floats, np.random.Generator], Floats]


@dataclass(frozen=True, eq=False)
class Law:
    """Synthetic arms and linear rewards, with tasks w = mean + whatever `draw` says.

    The law may change from task to task, so a prepared one counts the tasks it has handed out.
    """

    draw: Draw
    arms: Synthetic = field(default_factory=lambda: Synthetic(reward="linear", variance=0.0))

    @property
    def dimension(self) -> int:
        """The number of features, d."""
        return self.arms.dimension

    def prepare(self, replications: int, rng: np.random.Generator) -> "PreparedLaw":
        """Draw the arms' bases, and an orthonormal basis for the tasks to use as they like."""
        bases = self.arms.prepare(replications, rng)
        square = rng.standard_normal((replications, self.dimension, self.dimension))
        return PreparedLaw(self, bases, np.linalg.qr(square).Q)

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> Task:
        """One first task."""
        return self.prepare(replications, rng).sample(horizon, replications, rng)


class PreparedLaw:
    """A law whose bases are drawn."""

    def __init__(self, law: Law, bases: PreparedSynthetic, turned: Floats) -> None:
        self._law, self._bases, self._turned = law, bases, turned
        self._handed_out = 0

    @property
    def dimension(self) -> int:
        """The number of features, d."""
        return self._law.dimension

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> Task:
        """The next task."""
        plain = self._bases.sample(horizon, replications, rng)
        away = self._law.draw(self._handed_out, self._turned, rng)
        self._handed_out += 1
        means = plain.means + (plain.arms @ away[:, None, :, None])[..., 0]
        assert plain.parameter is not None
        return replace(
            plain,
            means=means,
            rewards=plain.rewards + (means - plain.means),
            parameter=plain.parameter + away,
        )


def low_rank(variance: float, rank: int) -> Draw:
    """Tasks differ along few directions, the same for all tasks of a replication."""

    def draw(j: int, turned: Floats, rng: np.random.Generator) -> Floats:
        along = rng.standard_normal((len(turned), rank, 1))
        return np.asarray(np.sqrt(variance / rank) * (turned[:, :, :rank] @ along)[..., 0])

    return draw


def bimodal(variance: float) -> Draw:
    """Two kinds of tasks, on either side of the mean, with a tenth of the variance around each."""

    def draw(j: int, turned: Floats, rng: np.random.Generator) -> Floats:
        n, d = turned.shape[:2]
        side = rng.choice([-1.0, 1.0], (n, 1))
        around = rng.standard_normal((n, d)) * np.sqrt(0.1 * variance / d)
        return np.asarray(side * np.sqrt(0.9 * variance) * turned[:, :, 0] + around)

    return draw


def heavy_tailed(variance: float, degrees: float = 2.5) -> Draw:
    """Student's t, one scale a task: most tasks are close, and some are far away."""

    def draw(j: int, turned: Floats, rng: np.random.Generator) -> Floats:
        n, d = turned.shape[:2]
        scale = np.sqrt((degrees - 2.0) / rng.chisquare(degrees, (n, 1)))
        return np.asarray(np.sqrt(variance / d) * scale * rng.standard_normal((n, d)))

    return draw


def drifting(variance: float, total: int) -> Draw:
    """The mean itself walks along one direction, from 0 to 4 after so many tasks."""

    def draw(j: int, turned: Floats, rng: np.random.Generator) -> Floats:
        n, d = turned.shape[:2]
        around = rng.standard_normal((n, d)) * np.sqrt(variance / d)
        return np.asarray(around + 4.0 * j / total * turned[:, :, 0])

    return draw


def orthogonal(size: float) -> Draw:
    """Every task along an axis of its own: nothing that one says is about another."""

    def draw(j: int, turned: Floats, rng: np.random.Generator) -> Floats:
        return np.asarray(size * turned[:, :, j % turned.shape[-1]] - 1.0)

    return draw


def unheard_of(variance: float, after: int) -> Draw:
    """Tasks close together, and then one of their size in a direction of its own."""

    def draw(j: int, turned: Floats, rng: np.random.Generator) -> Floats:
        n, d = turned.shape[:2]
        if j >= after:
            return np.asarray(np.sqrt(d) * turned[:, :, j % d] - 1.0)
        return np.asarray(rng.standard_normal((n, d)) * np.sqrt(variance / d))

    return draw


def betrayal(variance: float, after: int) -> Draw:
    """Tasks close together, and then the opposite of them."""

    def draw(j: int, turned: Floats, rng: np.random.Generator) -> Floats:
        n, d = turned.shape[:2]
        around = rng.standard_normal((n, d)) * np.sqrt(variance / d)
        return np.asarray(around - (2.0 if j >= after else 0.0))

    return draw
