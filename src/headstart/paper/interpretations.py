"""The report's chapters: a main study, other readings of the paper, curves, and claims."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import sqrt

import xarray as xr

from headstart.paper import claims
from headstart.paper import studies as paper
from headstart.paper.claims import Claim
from headstart.paper.learners import AVG, RR
from headstart.paper.studies import FIGURES, SIZES, Estimation, Reward
from headstart.paper.verdicts import Judged, Judgement
from headstart.studies.results import totals
from headstart.studies.study import Study

# How the report calls the readings of one choice.
MAIN = "main"
LINEAR = "linear reward"
SPLIT = "radius with ‖h‖ + S"
BEST = "each learner at its best λ"


@dataclass(frozen=True)
class Reading:
    """A way to read the paper: a study, and whether claims are judged at each learner's best λ."""

    label: str
    study: Study
    best: bool = False


@dataclass(frozen=True)
class Chapter:
    """One section of the report; `readings` begin with the main one."""

    name: str
    title: str
    choices: str
    readings: Sequence[Reading]
    claims: Sequence[Claim]
    curves: Sequence[Reading] = ()

    def studies(self) -> dict[str, Study]:
        """All that has to be run, by name."""
        return {reading.study.name: reading.study for reading in (*self.readings, *self.curves)}

    def with_settings(self, *, replications: int | None, seed: int) -> "Chapter":
        """The same chapter with other replications (None: as they are) and another seed."""

        def change(reading: Reading) -> Reading:
            n = replications or reading.study.replications
            return replace(reading, study=replace(reading.study, replications=n, seed=seed))

        return replace(
            self,
            readings=[change(reading) for reading in self.readings],
            curves=[change(reading) for reading in self.curves],
        )

    def judge(self, results: dict[str, xr.Dataset]) -> list[Judged]:
        """Every claim under every reading that bears on it."""
        regrets = {
            reading.study.name: _at_paper(totals(results[reading.study.name]))
            for reading in self.readings
        }
        return [Judged(claim.text, dict(self._judgements(claim, regrets))) for claim in self.claims]

    def _judgements(
        self, claim: Claim, regrets: dict[str, xr.DataArray]
    ) -> Iterator[tuple[str, Judgement]]:
        for reading in self.readings:
            rule = claims.at_best(claim.rule) if reading.best else claim.rule
            if rule is not None:
                yield reading.label, rule.judge(regrets[reading.study.name])


def _at_paper(regrets: xr.DataArray) -> xr.DataArray:
    """After the paper's N = 10 tasks, where a study has trained on different numbers."""
    return regrets.sel(trained=10) if "trained" in regrets.dims else regrets


def synthetic() -> Chapter:
    """Figures 1 and 2, under every combination of reward, estimator λ and radius."""
    readings = []
    rewards: tuple[Reward, ...] = ("winner", "linear")
    estimations: tuple[Estimation, ...] = ("same", 1.0, 0.01)
    bounds = (None, sqrt(20.0) + 1.0)
    for bound, reward, estimation in product(bounds, rewards, estimations):
        label = _label(reward, estimation, bound)
        # The sweep over all λ is drawn for two readings; claims need the figures' two values.
        drawn = label == MAIN or (reward, estimation, bound) == ("linear", 0.01, None)
        study = paper.synthetic(
            name=f"synthetic-{_slug(label)}",
            reward=reward,
            estimation_regularization=estimation,
            parameter_bound=bound,
            regularization=paper.GRID if drawn else FIGURES,
        )
        readings.append(Reading(label, study))
    apart = paper.synthetic(name="synthetic-far", variance_of="coordinate", regularization=FIGURES)
    readings.append(Reading("variance 1 a coordinate", apart))
    estimators: dict[str, Estimation] = {"estimator λ same": "same", "estimator λ = 0.01": 0.01}
    curves = [
        Reading(
            label,
            _memory_alone(
                paper.synthetic(
                    name=f"synthetic-tasks-{_slug(label)}",
                    estimation_regularization=estimation,
                    regularization=FIGURES,
                    training_tasks=SIZES,
                )
            ),
        )
        for label, estimation in estimators.items()
    ]
    return Chapter(
        "synthetic",
        "Synthetic data (Figures 1 and 2)",
        "0/1 reward to the winner; the estimators' λ is the policy's; a radius without the term "
        "√λ‖h − w*‖; tasks with a total variance of 1. S in ‖h‖ + S is ‖w̄‖ + 1 = 5.47.",
        readings,
        claims.SYNTHETIC,
        curves,
    )


def lastfm() -> Chapter:
    """Figure 3, one choice changed at a time, at λ = 1 and at each learner's best λ."""
    studies = {
        MAIN: paper.lastfm(),
        LINEAR: paper.lastfm(reward="linear"),
        "estimator λ = 0.01": paper.lastfm(estimation_regularization=0.01),
        SPLIT: paper.lastfm(parameter_bound="@parameter_bound"),
        "items carry the scale": paper.lastfm(features="items-scaled"),
        "items carry the scale, unit arms": paper.lastfm(features="items-scaled", unit_arms=True),
        "log counts": paper.lastfm(transform="log"),
        "log counts, linear reward": paper.lastfm(transform="log", reward="linear"),
    }
    return Chapter(
        "lastfm",
        "LastFM (Figure 3)",
        "0/1 reward to the winner; play counts as they are; users US and items V; at most 3 plays "
        "include none; the estimators' λ is the policy's; a radius without the term √λ‖h − w*‖; "
        "λ = 1, which the paper does not state. Seed users are drawn with replacement, one a "
        "replication, and their neighbours may overlap. S is the largest norm of a user.",
        _both_ways("lastfm", studies),
        claims.LASTFM,
    )


def movielens() -> Chapter:
    """Figure 4, one choice changed at a time, at λ = 1 and at each learner's best λ."""
    studies = {
        MAIN: paper.movielens(),
        LINEAR: paper.movielens(reward="linear"),
        "estimator λ = 0.01": paper.movielens(estimation_regularization=0.01),
        SPLIT: paper.movielens(parameter_bound="@parameter_bound"),
        "unit arms": paper.movielens(unit_arms=True),
        # U without S has no cluster with a silhouette of 0.15, so all of one clustering are taken.
        "items carry the scale, clusters unfiltered": paper.movielens(
            features="items-scaled", least_silhouette=-1.0, n_clusterings=1
        ),
        "unrated films count as not liked": paper.movielens(unrated_disliked=True),
    }
    readings = _both_ways("movielens", studies)
    return Chapter(
        "movielens",
        "MovieLens (Figure 4)",
        "0/1 reward to the winner; users US and items V; arms are rated films, one with at least 4 "
        "and four with at most 3; the estimators' λ is the policy's; a radius without the term "
        "√λ‖h − w*‖. No clustering has a silhouette of 0.15 as a whole, so single clusters are "
        "filtered: 15 pass in ten clusterings, and the replications take them in turn, users "
        "drawn and shuffled anew. The intervals speak of these clusters, which share users.",
        readings,
        claims.MOVIELENS,
    )


CHAPTERS = {"synthetic": synthetic, "lastfm": lastfm, "movielens": movielens}


def _label(reward: Reward, estimation: Estimation, bound: float | None) -> str:
    words = [
        LINEAR if reward == "linear" else "",
        "" if estimation == "same" else f"estimator λ = {estimation:g}",
        "" if bound is None else SPLIT,
    ]
    return ", ".join(word for word in words if word) or MAIN


def _both_ways(name: str, studies: dict[str, Study]) -> list[Reading]:
    named = {
        label: replace(study, name=f"{name}-{_slug(label)}") for label, study in studies.items()
    }
    readings = [Reading(label, study) for label, study in named.items()]
    for label, study in named.items():
        full = BEST if label == MAIN else f"{label}, {BEST}"
        readings.append(Reading(full, study, best=True))
    return readings


def _memory_alone(study: Study) -> Study:
    """Without the learners that learn nothing across tasks: their numbers are the main study's."""
    kept = tuple(learner for learner in study.learners if learner.name in {AVG, RR})
    return replace(study, learners=kept)


def _slug(label: str) -> str:
    plain = label.replace("λ", "lambda").replace("‖h‖ + S", "split").replace("=", "")
    return "-".join("".join(c if c.isalnum() or c == "." else " " for c in plain).split())
