"""The experiments of follow-up papers as sections: their studies and what the papers say of them.

Where a paper's number is known it is a claim of its own; what is known from words or a figure is an
order. `choices` says what the setting rests on.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from headstart import learners
from headstart.environments import Hierarchy, Synthetic
from headstart.interfaces import Policy
from headstart.learners.oful import AVG
from headstart.paper.bayes_ucb import PublishedBayesUCB
from headstart.paper.claims import Claim
from headstart.paper.gp_ucb import GPUCB
from headstart.paper.interpretations import Interpretation, ReportSection
from headstart.paper.rules import ClosesGap, Equals, Lower, Side
from headstart.policies import OFUL, Greedy, KnowledgeGradient, Thompson
from headstart.priors import Fixed
from headstart.schedules import Arrivals, InParallel, Schedule
from headstart.simulation.learner import Learner
from headstart.studies.study import LearnerSpec, Study

ORACLE, TS, META_TS, ADA_TS = "OracleTS", "TS", "Meta-TS", "AdaTS"
WIDER, NARROWER = "AdaTS, κ × 3", "AdaTS, κ / 3"
HIER_TS, HIER_UCB = "HierTS", "HierBayesUCB"
BAYES_UCB, GP_UCB, TUNED, KG, KG_STAR = "Bayes UCB", "GPUCB", "GPUCB, tuned", "KG", "KG*"
LIN_UCB, LIN_TS = "LinUCB", "LinTS"
SUBSPACE_UCB, SUBSPACE_TS = "LinUCB, subspace", "TS, subspace"
PRIOR_UPDATE, NOT_WIDENED, WRONG = "prior update", "prior update, not widened", "TS, wrong prior"

# Mean regret over 2,000 trials of 1,000 rounds: ten independent arms, N(0, 1), noise N(0, 1).
RUSSO_VAN_ROY = {
    TS: 69.1,
    BAYES_UCB: 63.8,
    GP_UCB: 157.6,
    TUNED: 53.8,
    KG: 65.5,
    KG_STAR: 50.3,
}


def gaussian_table() -> ReportSection:
    """Russo and Van Roy (2018): the table of the independent Gaussian bandit."""
    source = "Russo and Van Roy (2018), table of the Gaussian experiment"
    numbers = [
        Claim(
            f"{name} has a regret of {value:g}",
            f"{name}: {value:g}",
            Equals(name, value),
            implied=source,
        )
        for name, value in RUSSO_VAN_ROY.items()
    ]
    ordered = sorted(RUSSO_VAN_ROY, key=RUSSO_VAN_ROY.__getitem__)
    orders = [_better(one, two, source) for one, two in pairwise(ordered)]
    world = Synthetic(
        dimension=10,
        n_arms=10,
        mean=0.0,
        variance_of="coordinate",
        spread=0.0,
        decision_set="fixed",
        reward="linear",
    )
    study = Study.of(
        "gaussian",
        world,
        _one_task_learners(horizon=1000, prior_variance=1.0),
        horizon=1000,
        tasks=1,
        replications=2000,
        shard=250,
    )
    return ReportSection(
        "Gaussian",
        "Russo and Van Roy (2018): ten independent Gaussian arms",
        "Ten arms with means N(0, 1), noise N(0, 1), 1,000 rounds: a linear bandit whose arms are "
        "an orthonormal basis. The published means are over 2,000 trials. Tuned GPUCB has β = "
        "0.9 log t, and Bayes UCB the quantile 1 − 1/(t + 1). The δ of GPUCB is not known to us; "
        "here it is 0.1. Their V-IDS (58.4) is not among our policies; Greedy and LinUCB (OFUL "
        "with δ = 0.05) are not in their table. We quote the table from memory. That Thompson "
        "sampling and Bayes UCB agree with it supports the quotation: in their linear experiment, "
        "below, both have about half as much regret.",
        [_main(study)],
        [*numbers, *orders],
    )


def linear_gaussian() -> ReportSection:
    """Russo and Van Roy (2018): the linear Gaussian bandit, shown as curves."""
    source = "order of the curves in the figure, as we know it"
    world = Hierarchy(
        dimension=5,
        n_arms=30,
        mean_variance=0.0,
        task_variance=10.0,
        arm_shape="cube",
        arm_size=1.0 / math.sqrt(5.0),
    )
    study = Study.of(
        "linear-gaussian",
        world,
        _one_task_learners(horizon=250, prior_variance=10.0),
        horizon=250,
        tasks=1,
        replications=1000,
        shard=250,
    )
    return ReportSection(
        "linear",
        "Russo and Van Roy (2018): linear Gaussian bandit",
        "w ~ N(0, 10 I) in five dimensions, 30 arms uniform in [−1/√5, 1/√5]⁵, noise N(0, 1), 250 "
        "rounds. The paper shows curves and no numbers. Our KG and KG* ignore that a reward tells "
        "of other arms as well, so that they are not the paper's here.",
        [_main(study)],
        [
            _better(BAYES_UCB, TS, source),
            _better(TUNED, TS, source),
            _better(TS, GP_UCB, source),
        ],
    )


def _one_task_learners(*, horizon: int, prior_variance: float) -> list[LearnerSpec]:
    """Every policy from the true prior N(0, prior_variance·I), with noise of variance 1."""
    policies: dict[str, Policy] = {
        TS: Thompson(noise_scale=1.0),
        BAYES_UCB: PublishedBayesUCB(noise_scale=1.0),
        GP_UCB: GPUCB(),
        TUNED: GPUCB(tuned=0.9),
        KG: KnowledgeGradient(horizon=horizon, batches=False, noise_scale=1.0),
        KG_STAR: KnowledgeGradient(horizon=horizon, noise_scale=1.0),
        LIN_UCB: OFUL(),
        "Greedy": Greedy(),
    }
    prior = Fixed.zero(regularization=1.0 / prior_variance)
    return [LearnerSpec.of(Learner(name, policy, prior)) for name, policy in policies.items()]


def ada_ts() -> ReportSection:
    """Basu, Kveton, Zaheer and Szepesvári (2021): the linear bandit."""
    source = "Basu et al. (2021), figure and text, in our words"
    settings = {
        ("main", "d = 2, κ = 1"): (2, 1.0),
        ("four", "d = 4"): (4, 1.0),
        ("eight", "d = 8"): (8, 1.0),
        ("half", "κ = 0.5"): (2, 0.5),
        ("double", "κ = 2"): (2, 2.0),
    }
    return ReportSection(
        "AdaTS",
        "Basu, Kveton, Zaheer and Szepesvári (2021): AdaTS",
        "h ~ N(0, κ²I), w ~ N(h, 0.1²I), noise N(0, 1), 5d arms on the unit sphere, new for every "
        "task, 20 tasks of 200 rounds in a row. The settings are those of public code that builds "
        "on the authors'; which of them the paper's figure shows is not certain, so that others "
        "are played as well. TS starts every task from N(0, κ²I + 0.1²I), OracleTS from the true "
        "N(h, 0.1²I). “κ × 3” and “κ / 3” assume a κ that is wrong.",
        [
            Interpretation(key, label, _ada_ts_study(key, dimension, scale))
            for (key, label), (dimension, scale) in settings.items()
        ],
        [
            _better(ADA_TS, TS, source),
            _near(ADA_TS, ORACLE, TS, source),
            _better(ADA_TS, META_TS, source),
            _better(WIDER, TS, source),
            _better(NARROWER, TS, source),
        ],
    )


def _ada_ts_study(key: str, dimension: int, scale: float) -> Study:
    task, mean = 0.1**2, scale**2
    known = {"task_variance": task, "mean_variance": mean}
    world = Hierarchy(
        dimension=dimension, n_arms=5 * dimension, mean_variance=mean, task_variance=task
    )
    return Study.of(
        f"ada-ts-{key}",
        world,
        [
            _oracle(1.0, task),
            _from_marginal(1.0, mean + task),
            learners.meta_ts(name=META_TS, **known),
            learners.ada_ts(name=ADA_TS, **known),
            learners.ada_ts(name=WIDER, task_variance=task, mean_variance=9.0 * mean),
            learners.ada_ts(name=NARROWER, task_variance=task, mean_variance=mean / 9.0),
            *_ours(key),
        ],
        horizon=200,
        tasks=20,
        replications=200 if key == "main" else 100,
        shard=50,
    )


def hier_ts(*, parallel: bool) -> ReportSection:
    """Hong, Kveton, Zaheer and Ghavamzadeh (2022): tasks in sequence, or five at a time."""
    source = "Hong et al. (2022), figure and text, in our words"
    later = "Guan and Xiong (2024), Section 6, the same setting"
    five = InParallel(5) if parallel else None
    settings = [
        ("main", "main", _HierTS(schedule=five)),
        ("arms", "new arms for every task", _HierTS(schedule=five, decision_set="task")),
        ("noise", "noise of standard deviation 0.5", _HierTS(schedule=five, noise_variance=0.25)),
        ("delta", "HierBayesUCB with δ = 0.05", _HierTS(schedule=five, delta=0.05)),
    ]
    if parallel:
        settings += [
            ("late", "rewards four turns late", _HierTS(schedule=InParallel(5, delay=4))),
            ("arrivals", "arrivals and returns at random", _HierTS(schedule=Arrivals(5))),
        ]
    else:
        settings += [
            ("two", "d = 2, κ = 0.5", _HierTS(dimension=2, scale=0.5)),
            ("eight", "d = 8", _HierTS(dimension=8)),
        ]
    how = "parallel" if parallel else "sequence"
    which = (
        " The papers do not say which five tasks play: here two groups of five. Ours learns from "
        "completed tasks only, so that the first group gains nothing."
    )
    return ReportSection(
        f"HierTS, {how}",
        f"Hong, Kveton, Zaheer and Ghavamzadeh (2022): HierTS, tasks in {how}",
        f"Ten tasks of 200 rounds, {'five at a time' if parallel else 'one after the other'}, "
        "h ~ N(0, κ²I) with κ = 1, w ~ N(h, 0.1²I), d = 4, ten arms uniform in [−0.5, 0.5]ᵈ, the "
        "same for all tasks, noise of variance 0.5. The setting is the one that Guan and Xiong "
        "(2024) state as Hong et al.'s. HierBayesUCB is Guan and Xiong's, with δ = 1/2000."
        + (which if parallel else ""),
        [Interpretation(key, label, setting.study(how, key)) for key, label, setting in settings],
        [
            _better(HIER_TS, TS, source),
            _near(HIER_TS, ORACLE, TS, source),
            _better(HIER_UCB, HIER_TS, later),
        ],
    )


@dataclass(frozen=True, kw_only=True)
class _HierTS:
    """What the settings of HierTS differ in."""

    schedule: Schedule | None = None
    dimension: int = 4
    scale: float = 1.0
    noise_variance: float = 0.5
    decision_set: Literal["fixed", "task"] = "fixed"
    delta: float = 1.0 / 2000.0

    def study(self, how: str, key: str) -> Study:
        """The study of one setting."""
        noise, task, mean = self.noise_variance, 0.1**2, self.scale**2
        known = {"noise_variance": noise, "task_variance": task, "mean_variance": mean}
        world = Hierarchy(
            dimension=self.dimension,
            n_arms=10,
            mean_variance=mean,
            task_variance=task,
            arm_shape="cube",
            arm_size=0.5,
            decision_set=self.decision_set,
            noise_scale=math.sqrt(noise),
        )
        return Study.of(
            f"hier-ts-{how}-{key}",
            world,
            [
                _oracle(noise, task),
                _from_marginal(noise, mean + task),
                learners.hier_ts(name=HIER_TS, **known),
                learners.hier_bayes_ucb(name=HIER_UCB, failure_probability=self.delta, **known),
                *_ours(key),
            ],
            horizon=200,
            tasks=10,
            replications=200 if key == "main" else 100,
            shard=50,
            schedule=self.schedule,
        )


def affine_subspace() -> ReportSection:
    """Bilaj, Dhouib and Maghsudi (2024): tasks around an affine subspace."""
    source = "Bilaj et al. (2024), abstract, in our words"
    settings = {
        ("main", "p = 3"): (3, 3, 1.0),
        ("quiet", "noise of standard deviation 0.3"): (3, 3, 0.3),
        ("more", "five directions assumed where three are"): (3, 5, 1.0),
        ("none", "no subspace: p = 0, three directions assumed"): (0, 3, 1.0),
    }
    return ReportSection(
        "subspace",
        "Bilaj, Dhouib and Maghsudi (2024): shared affine subspaces",
        "The paper's synthetic setting is not known to us; this one is ours, within its model: "
        "50 tasks of 100 rounds, d = 20, p = 3 directions of variance 1, variance 0.01 across "
        "them, h ~ N(0, I), ten arms on the unit sphere in every round, noise N(0, 1). λ has the "
        "values of the model. Principal components are computed exactly, where the paper follows "
        f"them online. {AVG} is the paper's method with p = 0.",
        [
            Interpretation(key, label, _subspace_study(key, true, assumed, noise))
            for (key, label), (true, assumed, noise) in settings.items()
        ],
        [
            _better(SUBSPACE_UCB, LIN_UCB, source),
            _better(SUBSPACE_TS, LIN_TS, source),
            _better(SUBSPACE_UCB, AVG, "p = 0 is the mean alone"),
        ],
    )


def _subspace_study(key: str, true: int, assumed: int, noise: float) -> Study:
    d, horizon, across = 20, 100, 0.01
    oful = OFUL(noise_scale=noise, failure_probability=1.0 / horizon)
    mean_only = across + true / d
    marginal = 1.0 + mean_only
    subspace = {"regularization": noise**2 / across, "inside": noise**2 / (1.0 + across)}
    return Study.of(
        f"subspace-{key}",
        Hierarchy(
            dimension=d,
            n_arms=10,
            task_variance=across,
            n_directions=true,
            decision_set="fresh",
            noise_scale=noise,
        ),
        [
            learners.itl(name=LIN_UCB, policy=oful, regularization=noise**2 / marginal),
            learners.affine_subspace(
                name=AVG, n_directions=0, policy=oful, regularization=noise**2 / mean_only
            ),
            learners.affine_subspace(
                name=SUBSPACE_UCB, n_directions=assumed, policy=oful, **subspace
            ),
            learners.lin_ts(name=LIN_TS, noise_variance=noise**2, prior_variance=marginal),
            learners.affine_subspace(
                name=SUBSPACE_TS,
                n_directions=assumed,
                policy=Thompson(noise_scale=noise),
                **subspace,
            ),
            *_ours(key),
        ],
        horizon=horizon,
        tasks=50,
        replications=100 if key == "main" else 50,
        shard=25,
    )


def prior_update() -> ReportSection:
    """Peleg, Pearl and Meir (2022): the prior estimated from the first rounds of tasks."""
    source = "Peleg et al. (2022), abstract, in our words"
    settings = {("main", "100 rounds"): 100, ("long", "400 rounds"): 400}
    return ReportSection(
        "prior update",
        "Peleg, Pearl and Meir (2022): prior update",
        "The paper's settings are not known to us; this one is ours, within its model: d = 5, "
        "h ~ N(0, I), w ~ N(h, 0.1 I), 20 arms on the unit sphere, new for every task, noise "
        "N(0, 1). Regret of a test task of 100 rounds after N = 200 tasks, against Thompson "
        "sampling from the true prior N(h, 0.1 I) and from the wrong one, N(0, 1.1 I), from which "
        "the first six tasks of prior update start too. It explores in the first ten rounds of "
        "every task.",
        [
            Interpretation(key, label, _prior_update_study(key, horizon))
            for (key, label), horizon in settings.items()
        ],
        [_better(PRIOR_UPDATE, WRONG, source), _near(PRIOR_UPDATE, ORACLE, WRONG, source)],
    )


def _prior_update_study(key: str, horizon: int) -> Study:
    task, mean = 0.1, 1.0
    marginal = mean + task
    return Study.of(
        f"prior-update-{key}",
        Hierarchy(dimension=5, n_arms=20, mean_variance=mean, task_variance=task),
        [
            _oracle(1.0, task),
            learners.lin_ts(name=WRONG, prior_variance=marginal),
            learners.prior_update(name=PRIOR_UPDATE, prior_variance=marginal),
            learners.prior_update(name=NOT_WIDENED, prior_variance=marginal, widening=0.0),
            *_ours(key),
        ],
        protocol="train-then-test",
        horizon=horizon,
        training_tasks=(0, 6, 12, 25, 50, 100, 200) if key == "main" else (200,),
        test_tasks=5,
        replications=100 if key == "main" else 25,
        shard=25,
    )


def sections() -> list[ReportSection]:
    """All of them, in the order of the report."""
    return [
        ada_ts(),
        hier_ts(parallel=False),
        hier_ts(parallel=True),
        affine_subspace(),
        prior_update(),
        gaussian_table(),
        linear_gaussian(),
    ]


def _oracle(noise_variance: float, task_variance: float) -> LearnerSpec:
    """Thompson sampling from the true distribution of tasks, N(h, τ²I)."""
    told = learners.lin_ts(name=ORACLE, noise_variance=noise_variance, prior_variance=task_variance)
    return LearnerSpec.of(told, bias="@mean_parameter")


def _from_marginal(noise_variance: float, variance: float) -> Learner:
    """Thompson sampling that learns nothing across tasks."""
    return learners.lin_ts(name=TS, noise_variance=noise_variance, prior_variance=variance)


def _ours(key: str) -> list[Learner]:
    """Ours, which no claim is about, in the main settings."""
    return [learners.headstart()] if key == "main" else []


def _main(study: Study) -> Interpretation:
    return Interpretation("main", "main", study)


def _better(first: str, second: str, source: str) -> Claim:
    rule = Lower(Side(first, 1.0), Side(second, 1.0))
    return Claim(f"{first} is better than {second}", f"{first} < {second}", rule, implied=source)


def _near(learner: str, target: str, other: str, source: str) -> Claim:
    return Claim(
        f"{learner} is nearer to {target} than to {other}",
        f"{learner} near {target}",
        ClosesGap(learner, target, other),
        implied=source,
    )
