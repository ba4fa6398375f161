"""Explanation: what an estimate says about one arm, feature by feature."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.intervals import quantile
from headstart.live.inputs import Groups

# A table shows the features with the largest contributions, this many, and the others as one row.
_SHOWN = 20


class GroupOfFeatures(NamedTuple):
    """What the features of one attribute, or of a cross of two, contribute together.

    >>> features = hs.Features(item=[hs.Category("brand", levels=["acme", "zeta"])])
    >>> bandit = hs.MetaBandit(features=features, prior=hs.priors.Fixed.zero(), seed=0)
    >>> _ = bandit.observe("ann", {"brand": "acme"}, 1.0)
    >>> group = bandit.task("ann").explain({"brand": "acme"}).groups[0]
    >>> group.text, round(group.contribution, 2)
    ('brand = acme', 0.33)
    """

    name: str  # "brand", "device × brand", "constant"
    text: str  # "brand = acme" if it has one level only, else the name
    contribution: float
    from_prior: float
    from_rewards: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Explanation:
    """What a task's estimate says about an arm x, and where it comes from.

    The mean xᵀŵ is the sum of the contributions xᵢŵᵢ. Each has two parts: what the prior says,
    xᵢhᵢ, and what the task's own rewards add, xᵢ(ŵᵢ − hᵢ).

    Attributes
    ----------
    task : str or int
        The name of the task.
    arm : hashable or None
        The arm's id, if it is known.
    names : tuple of str
        The names of the d features.
    features : ndarray of shape (d,)
        The arm's features, x.
    mean : float
        xᵀŵ, plus the effect of the item.
    width : float
        ‖x‖ in the norm of (V + Λ)⁻¹.
    interval : (float, float)
        The 95 % interval of the mean.
    contributions, from_prior, from_rewards : ndarray of shape (d,)
        xᵢŵᵢ, and its two parts xᵢhᵢ and xᵢ(ŵᵢ − hᵢ).
    groups : tuple of GroupOfFeatures
        The contributions summed by attribute, largest first; empty for plain features.
    item_effect : float
        What a catalogue's item earns beyond its features, learned over all tasks.

    Examples
    --------
    >>> bandit = hs.MetaBandit(dimension=2, prior=hs.priors.Fixed.zero(), seed=0)
    >>> _ = bandit.observe("ann", [1.0, 0.5], 1.0)
    >>> explanation = bandit.task("ann").explain([1.0, 0.0])
    >>> round(explanation.mean, 3), explanation.contributions.round(3)
    (0.444, array([0.444, 0.   ]))
    """

    task: str | int
    arm: Hashable | None
    names: tuple[str, ...]
    features: Floats
    mean: float
    width: float
    interval: tuple[float, float]
    contributions: Floats
    from_prior: Floats
    from_rewards: Floats
    groups: tuple[GroupOfFeatures, ...] = ()
    item_effect: float = 0.0

    @classmethod
    def of(
        cls,
        features: Floats,
        *,
        task: str | int,
        arm: Hashable | None,
        names: tuple[str, ...],
        parameter: Floats,
        bias: Floats,
        width: float,
        noise_scale: float,
        groups: Groups | None = None,
        item_effect: float = 0.0,
    ) -> Explanation:
        """The explanation of an arm, from an estimate in numbers.

        Parameters
        ----------
        features : ndarray of shape (d,)
            The arm's features, x.
        task : str or int
            The name of the task.
        arm : hashable or None
            The arm's id.
        names : tuple of str
            The names of the d features.
        parameter, bias : ndarray of shape (d,)
            The estimate ŵ and the prior's h.
        width : float
            ‖x‖ in the norm of (V + Λ)⁻¹.
        noise_scale : float
            The standard deviation of a reward.
        groups : Groups, optional
            Which features belong together.
        item_effect : float, default 0.0
            The effect of the item itself.

        Returns
        -------
        Explanation
        """
        contributions, from_prior = features * parameter, features * bias
        mean = float(features @ parameter) + item_effect
        half = quantile(math.inf) * noise_scale * width
        parts = (contributions, from_prior, contributions - from_prior)
        return cls(
            task=task,
            arm=arm,
            names=names,
            features=features.copy(),
            mean=mean,
            width=width,
            interval=(mean - half, mean + half),
            contributions=contributions,
            from_prior=from_prior,
            from_rewards=parts[2],
            groups=() if groups is None else _grouped(groups, names, features, parts),
            item_effect=item_effect,
        )

    def __str__(self) -> str:
        """The attributes, or a table of features, by contribution, largest first."""
        lines = self._attributes() if self.groups else self._table()
        if self.item_effect:
            lines.append(f"the item itself: {self._signed(self.item_effect)}")
        return "\n".join([self._head(), *lines])

    def _head(self) -> str:
        low, high = self.interval
        arm = "an arm" if self.arm is None else f"arm {self.arm!r}"
        return (
            f"{arm} for task {self.task!r}: mean {self.mean:.4g}, "
            f"95 % interval [{low:.4g}, {high:.4g}], width {self.width:.4g}"
        )

    def _attributes(self) -> list[str]:
        """A line for every attribute and cross that contributes."""
        there = [group for group in self.groups if group.contribution or group.from_prior]
        lines = [
            f"{group.text}: {self._signed(group.contribution)} "
            f"(prior {self._signed(group.from_prior)}, rewards {self._signed(group.from_rewards)})"
            for group in there[:_SHOWN]
        ]
        if len(there) > _SHOWN:
            rest = sum(group.contribution for group in there[_SHOWN:])
            lines.append(f"{len(there) - _SHOWN} others: {self._signed(rest)}")
        return lines

    def _table(self) -> list[str]:
        order = np.argsort(-np.abs(self.contributions), kind="stable")
        rows = [("feature", "value", "contribution", "from prior", "from rewards")]
        rows += [
            (self.names[i], f"{self.features[i]:.4g}", *self._cells(order[k : k + 1]))
            for k, i in enumerate(order[:_SHOWN].tolist())
        ]
        if len(order) > _SHOWN:
            rows.append((f"{len(order) - _SHOWN} others", "", *self._cells(order[_SHOWN:])))
        rows.append(("sum", "", *self._cells(order)))
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        return [
            "  ".join(
                cell.ljust(width) if column == 0 else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        ]

    def __repr__(self) -> str:
        return (
            f"Explanation(task={self.task!r}, arm={self.arm!r}, mean={self.mean:.4g}, "
            f"width={self.width:.4g}, d={len(self.names)}; print it for a table)"
        )

    def _cells(self, which: Integers) -> tuple[str, str, str]:
        """The sums of three columns over some features."""
        columns = (self.contributions, self.from_prior, self.from_rewards)
        first, second, third = (self._signed(float(column[which].sum())) for column in columns)
        return first, second, third

    def _signed(self, value: float) -> str:
        """A part of the mean, rounded to the digits that the largest part shows."""
        largest = max(abs(self.mean), float(np.abs(self.contributions).max(initial=0.0)))
        decimals = 3 - math.floor(math.log10(largest)) if largest else 3
        return f"{round(value, decimals):+.4g}"


def _grouped(
    groups: Groups, names: tuple[str, ...], features: Floats, parts: tuple[Floats, Floats, Floats]
) -> tuple[GroupOfFeatures, ...]:
    """The parts of the mean (d,), summed by group, largest first."""
    found = []
    of_features = np.array(groups.of_features)
    for i, name in enumerate(groups.names):
        members = np.flatnonzero(of_features == i)
        present = members[features[members] != 0.0]
        text = name
        if len(present) == 1:  # the only column, which is a level's, says more
            text = names[present[0]]
            for attribute in name.split(" × "):
                text = text.replace(f"{attribute}=", f"{attribute} = ", 1)
        sums = (float(part[members].sum()) for part in parts)
        found.append(GroupOfFeatures(name, text, *sums))
    return tuple(sorted(found, key=lambda group: -abs(group.contribution)))
