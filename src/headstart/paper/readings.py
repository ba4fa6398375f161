"""Readings of the paper, and the sections of the report that compare them.

A reading fixes every detail that Section 6 leaves open. Learners do not depend on each other, so
readings that differ in an estimator's λ share a study, which plays each estimator once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import sqrt
from string import ascii_uppercase
from typing import TypedDict

import xarray as xr

from headstart.learners.oful import AVG, ITL, OPT, ORACLE, RR
from headstart.paper import claims
from headstart.paper import studies as paper
from headstart.paper.claims import Claim
from headstart.paper.rules import Outcome, all_equal
from headstart.paper.studies import FIGURES, OURS, Estimation, Reward, estimator_name
from headstart.paper.verdicts import Verdict, mark_marginal
from headstart.studies.results import totals
from headstart.studies.study import Study
from headstart.studies.summary import Summary

# Results by the names of studies.
Results = Mapping[str, xr.Dataset]

# No reading was chosen by results on this seed, on which the report judges all of them.
SEED = 20_000

# Replications of the synthetic studies, and of the one with the main reading.
_REPLICATIONS, _MAIN_REPLICATIONS = 100, 300

# λ of the sweep, and completed tasks at which the memory is tested, next to the paper's N = 10.
_SWEEP = tuple(10.0**power for power in range(-1, 5))
_SIZES = (0, 1, 2, 5, 10, 20, 50)

# The λ of AVG-OFUL's and of RR-OFUL's estimator. The paper calls the first unbiased, which Eq. 7 is
# for a λ near 0, and the second biased by λ.
_ESTIMATIONS: dict[str, tuple[Estimation, Estimation]] = {
    "": ("same", "same"),
    "estimator-1": (1.0, 1.0),
    "estimator-0.01": (0.01, 0.01),
    "avg-0.01": (0.01, "same"),
}

# The report's label for a change of reading, by its key.
_LABELS = {
    "main": "main",
    "linear": "linear reward",
    "norm-bound": "radius with ‖h‖ + S",
    "best": "each learner at its best λ",
    "items-scaled": "items carry the scale",
    "unit-arms": "unit arms",
    "log": "log counts",
    "unfiltered": "without the paper's filter: all 20 clusters of one clustering",
    "unrated-disliked": "unrated films count as not liked",
    "coordinate-variance": "variance 1 per coordinate",
    "estimator-1": "estimator λ = 1",
    "estimator-0.01": "estimator λ = 0.01",
    "avg-0.01": "estimator λ = 0.01 in AVG-OFUL alone",
}


@dataclass(frozen=True)
class Reading:
    """One choice of details that the paper leaves open: a study, with a key and a label.

    `avg` and `rr` are the λ of the two estimators. With `best`, claims are judged at each learner's
    best λ.
    """

    key: str
    label: str
    study: Study
    avg: Estimation = "same"
    rr: Estimation = "same"
    best: bool = False

    def played(self, results: Results) -> Summary:
        """The study with this reading's learners, under the paper's names; against ITL."""
        own = {estimator_name(AVG, self.avg): AVG, estimator_name(RR, self.rr): RR}
        shown = own | {name: name for name in (OPT, ORACLE, ITL, OURS)}
        learners = [one for one in self.study.learners if one.name in shown]
        names = [shown[one.name] for one in learners]
        of = results[self.study.name].sel(learner=[one.name for one in learners])
        renamed = [replace(one, name=name) for one, name in zip(learners, names, strict=True)]
        study = replace(self.study, learners=tuple(renamed))
        # Without ITL, a reading shows curves and is not compared.
        reference = ITL if ITL in names else None
        return Summary(study, of.assign_coords(learner=names), reference)


@dataclass(frozen=True)
class Section:
    """One section of the report: `readings` begin with the main one.

    `curves` are further readings, over the number of completed tasks or over λ.
    """

    name: str
    title: str
    choices: str
    readings: Sequence[Reading]
    claims: Sequence[Claim]
    curves: Sequence[Reading] = ()

    @property
    def main(self) -> Reading:
        """The main reading."""
        return self.readings[0]

    def reading(self, key: str) -> Reading:
        """The reading or the curve with this key."""
        return next(one for one in (*self.readings, *self.curves) if one.key == key)

    def letters(self) -> dict[str, str]:
        """A letter for each reading, by key."""
        return dict(zip((one.key for one in self.readings), ascii_uppercase, strict=False))

    def studies(self) -> dict[str, Study]:
        """All studies to run, by name."""
        return {one.study.name: one.study for one in (*self.readings, *self.curves)}

    def map(self, change: Callable[[Study], Study]) -> "Section":
        """The same section with every study changed."""

        def changed(readings: Sequence[Reading]) -> list[Reading]:
            return [replace(one, study=change(one.study)) for one in readings]

        return replace(self, readings=changed(self.readings), curves=changed(self.curves))

    def with_settings(self, *, replications: int | None, seed: int | None) -> "Section":
        """The same section with other replications and another seed (None: unchanged)."""

        def change(study: Study) -> Study:
            return replace(
                study,
                replications=replications or study.replications,
                seed=study.seed if seed is None else seed,
            )

        return self.map(change)

    def verdicts(self, results: Results) -> list[Verdict]:
        """Every claim under every reading that bears on it."""
        regrets = {one.key: totals(one.played(results).results) for one in self.readings}
        found = [Verdict(claim, dict(self._outcomes(claim, regrets))) for claim in self.claims]
        return mark_marginal(found)

    def _outcomes(
        self, claim: Claim, regrets: Mapping[str, xr.DataArray]
    ) -> Iterator[tuple[str, Outcome]]:
        for one in self.readings:
            rule = claims.at_best(claim.rule) if one.best else claim.rule
            if rule is not None:
                of = regrets[one.key]
                equal = all_equal(of, claims.learners_of(rule), rule.sides)
                yield one.key, replace(rule.judge(of), uninformative=equal)


def synthetic() -> Section:
    """Figures 1 and 2, under every combination of reward, estimators' λ and radius."""
    readings = []
    rewards: tuple[Reward, ...] = ("winner", "linear")
    both = tuple(dict.fromkeys(avg for avg, _ in _ESTIMATIONS.values()))
    for bound, reward in product((None, sqrt(20.0) + 1.0), rewards):
        changes = ["linear"] if reward == "linear" else []
        changes += ["norm-bound"] if bound is not None else []
        study = paper.synthetic(
            name=_name("synthetic", changes),
            reward=reward,
            estimations=both,
            parameter_bound=bound,
            ours=not changes,
            regularization=FIGURES,
            replications=_REPLICATIONS if changes else _MAIN_REPLICATIONS,
            seed=SEED,
        )
        readings += [_reading(changes, study, key) for key in _ESTIMATIONS]
    apart = ["coordinate-variance"]
    study = paper.synthetic(
        name=_name("synthetic", apart),
        variance=20.0,
        regularization=FIGURES,
        seed=SEED,
    )
    return Section(
        "synthetic",
        "Synthetic data (Figures 1 and 2)",
        "0/1 reward to the winner; the estimators' λ is the policy's; a radius without the term "
        "√λ‖h − w*‖; tasks with a total variance of 1. S in ‖h‖ + S is ‖w̄‖ + 1 = 5.47.",
        [*readings, _reading(apart, study)],
        claims.SYNTHETIC,
        [
            replace(_reading([], study, estimation), key=f"{name}-{estimation or 'main'}")
            for name, study in (("tasks", _over_tasks()), ("sweep", _over_grid()))
            for estimation in ("", "avg-0.01")
        ],
    )


def lastfm() -> Section:
    """Figure 3, one choice changed at a time, at λ = 1 and at each learner's best λ."""
    studies = {
        (): paper.lastfm(ours=True, estimations=("same", 0.01)),
        ("linear",): paper.lastfm(reward="linear", ours=True),
        ("norm-bound",): paper.lastfm(parameter_bound="@parameter_bound"),
        ("items-scaled",): paper.lastfm(features="items-scaled"),
        ("items-scaled", "unit-arms"): paper.lastfm(features="items-scaled", unit_arms=True),
        ("log",): paper.lastfm(transform="log"),
        ("log", "linear"): paper.lastfm(transform="log", reward="linear"),
    }
    return Section(
        "lastfm",
        "LastFM (Figure 3)",
        "0/1 reward to the winner; untransformed play counts; users US and items V; at most 3 "
        "plays includes none; the estimators' λ is the policy's; a radius without the term √λ‖h − "
        "w*‖; λ = 1, which the paper does not state. Seed users are drawn with replacement, one "
        "per replication, and their neighbours may overlap. S is the largest norm of a user.",
        _with_best("lastfm", studies),
        claims.LASTFM,
    )


def movielens() -> Section:
    """Figure 4, one choice changed at a time, at λ = 1 and at each learner's best λ."""
    # No two of these clusters share a user.
    one_clustering: _OneClustering = {"least_silhouette": -1.0, "n_clusterings": 1}
    studies = {
        (): paper.movielens(ours=True, estimations=("same", 0.01)),
        ("linear",): paper.movielens(reward="linear", ours=True),
        ("norm-bound",): paper.movielens(parameter_bound="@parameter_bound"),
        ("unit-arms",): paper.movielens(unit_arms=True),
        ("unfiltered",): paper.movielens(ours=True, **one_clustering),
        ("unfiltered", "linear"): paper.movielens(reward="linear", ours=True, **one_clustering),
        # U without S has no cluster with a silhouette of 0.15.
        ("items-scaled", "unfiltered"): paper.movielens(features="items-scaled", **one_clustering),
        ("unrated-disliked",): paper.movielens(unrated_disliked=True),
    }
    return Section(
        "movielens",
        "MovieLens (Figure 4)",
        "0/1 reward to the winner; users US and items V; arms are rated films, one with at least "
        "4 and four with at most 3; the estimators' λ is the policy's; a radius without the term "
        "√λ‖h − w*‖. No clustering has a silhouette of 0.15 as a whole, so single clusters are "
        "filtered: 15 pass in ten clusterings, and the replications take them in turn, each with "
        "its users shuffled. The 15 are three sets of users: clusters that share at least half of "
        "the smaller's users count as one cohort, replications of a cohort are averaged, and "
        "intervals are over cohorts. “All 20 clusters of one clustering” leaves the silhouette "
        "filter out; those clusters share no user, so its intervals are over 20.",
        _with_best("movielens", studies),
        claims.MOVIELENS,
    )


class _OneClustering(TypedDict):
    least_silhouette: float
    n_clusterings: int


SECTIONS = {"synthetic": synthetic, "lastfm": lastfm, "movielens": movielens}


def _name(prefix: str, changes: Sequence[str]) -> str:
    return "-".join([prefix, *(changes or ["main"])])


def _reading(changes: Sequence[str], study: Study, estimation: str = "") -> Reading:
    """A reading from what it changes, with estimators' λ by key."""
    avg, rr = _ESTIMATIONS[estimation]
    named = [*changes, *([estimation] if estimation else [])] or ["main"]
    label = ", ".join(_LABELS[change] for change in named)
    return Reading("-".join(named), label, study, avg, rr)


def _with_best(prefix: str, studies: Mapping[tuple[str, ...], Study]) -> list[Reading]:
    """Every reading twice: with claims at the λ they name, then at each learner's best."""
    stated = []
    for changes, study in studies.items():
        named = replace(study, name=_name(prefix, changes), seed=SEED)
        estimations = ("",) if changes else ("", "estimator-0.01", "avg-0.01")
        stated += [_reading(changes, named, key) for key in estimations]
    best = [
        replace(
            one,
            key=f"{one.key}-best",
            label=", ".join([*([] if one.key == "main" else [one.label]), _LABELS["best"]]),
            best=True,
        )
        for one in stated
    ]
    return [*stated, *best]


def _over_tasks() -> Study:
    """Regret against N, without the learners that learn nothing across tasks."""
    return _of_learners(
        paper.synthetic(
            name="synthetic-tasks",
            estimations=("same", 0.01),
            ours=True,
            regularization=FIGURES,
            training_tasks=_SIZES,
            replications=50,
            seed=SEED,
        ),
        AVG,
        RR,
        OURS,
        estimator_name(AVG, 0.01),
    )


def _over_grid() -> Study:
    """Regret against λ."""
    return _of_learners(
        paper.synthetic(
            name="synthetic-sweep",
            estimations=("same", 0.01),
            regularization=_SWEEP,
            replications=_REPLICATIONS,
            seed=SEED,
        ),
        ORACLE,
        AVG,
        RR,
        ITL,
        estimator_name(AVG, 0.01),
    )


def _of_learners(study: Study, *names: str) -> Study:
    return replace(study, learners=tuple(one for one in study.learners if one.name in names))
