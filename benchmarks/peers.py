"""Other libraries' linear UCB, each as one function that plays all rounds of a problem."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache, partial
from statistics import NormalDist, median
from time import process_time

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Problem = tuple[FloatArray, FloatArray]  # arms (T, K, d), rewards (T, K)
Play = Callable[[FloatArray, FloatArray, float, float], IntArray]


@dataclass(frozen=True)
class Peer:
    """A fresh model's choices (T,) from play(arms, rewards, alpha, regularization)."""

    name: str
    requires: str
    note: str
    exact: bool  # the same arithmetic as the NumPy reference, so the same arms
    play: Play


PEERS: dict[str, Peer] = {}


def peer(name: str, requires: str, note: str, *, exact: bool) -> Callable[[Play], Play]:
    """Register the decorated function as a peer."""

    def register(play: Play) -> Play:
        PEERS[name] = Peer(name, requires, note, exact, play)
        return play

    return register


@peer("NumPy loop", "numpy", "product, einsum, Sherman–Morrison", exact=True)
def numpy_loop(
    arms: FloatArray, rewards: FloatArray, alpha: float, regularization: float
) -> IntArray:
    """Score Xw + α‖x‖_A, A = (V + λI)⁻¹ updated by Sherman–Morrison: the reference."""
    rounds, _, dimension = arms.shape
    inverse = np.eye(dimension) / regularization
    parameter = np.zeros(dimension)
    choices = np.empty(rounds, dtype=np.int64)
    for t in range(rounds):
        features = arms[t]
        product = features @ inverse
        width = np.sqrt(np.einsum("kd,kd->k", product, features))
        mean = features @ parameter
        k = int((mean + alpha * width).argmax())
        choices[t] = k
        u = product[k]
        shrink = 1.0 / (1.0 + width[k] ** 2)
        inverse -= np.outer(shrink * u, u)
        parameter += shrink * (rewards[t, k] - mean[k]) * u
    return choices


def _whole_loop(  # noqa: PLR0912 (a call inside would cost what is being measured)
    arms: FloatArray, rewards: FloatArray, alpha: float, regularization: float
) -> IntArray:
    """Every round in one function, with A = [[P, Q], [Qᵀ, R]] and x = (a, b).

    xᵀAx = aᵀPa + 2aᵀQb + bᵀRb, so symmetry saves a quarter of X·A; b is empty for small sizes,
    where three products cost more than they save.
    """
    rounds, n_arms, dimension = arms.shape
    h = dimension // 2 if dimension >= 50 and n_arms >= 20 else dimension  # as measured
    g = dimension - h
    upper, lower = np.eye(h) / regularization, np.eye(g) / regularization
    cross = np.zeros((h, g))
    parameter, u = np.zeros(dimension), np.empty(dimension)
    # Contiguous halves: a compiled np.dot would copy a strided view every time.
    a, b = np.empty((n_arms, h)), np.empty((n_arms, g))
    a_upper, a_cross, b_lower = np.empty((n_arms, h)), np.empty((n_arms, g)), np.empty((n_arms, g))
    choices = np.empty(rounds, dtype=np.int64)
    for t in range(rounds):
        x = arms[t]
        if g == 0:
            a = x
            np.dot(a, upper, a_upper)
        else:
            for k in range(n_arms):
                for i in range(h):
                    a[k, i] = x[k, i]
                for i in range(g):
                    b[k, i] = x[k, h + i]
            np.dot(a, upper, a_upper)
            np.dot(a, cross, a_cross)
            np.dot(b, lower, b_lower)
        best, chosen, chosen_mean, chosen_square = -np.inf, 0, 0.0, 0.0
        for k in range(n_arms):
            square, mean = 0.0, 0.0
            for i in range(h):
                square += a_upper[k, i] * a[k, i]
                mean += parameter[i] * a[k, i]
            for i in range(g):
                square += (2.0 * a_cross[k, i] + b_lower[k, i]) * b[k, i]
                mean += parameter[h + i] * b[k, i]
            score = mean + alpha * np.sqrt(square)
            if score > best:
                best, chosen, chosen_mean, chosen_square = score, k, mean, square
        choices[t] = chosen
        for i in range(h):  # u = Ax is the chosen row of the products, and Qb for that arm alone
            total = a_upper[chosen, i]
            for j in range(g):
                total += cross[i, j] * b[chosen, j]
            u[i] = total
        for i in range(g):
            u[h + i] = a_cross[chosen, i] + b_lower[chosen, i]
        shrink = 1.0 / (1.0 + chosen_square)
        step = shrink * (rewards[t, chosen] - chosen_mean)
        for i in range(dimension):
            parameter[i] += step * u[i]
        for i in range(h):
            scaled = shrink * u[i]
            for j in range(h):
                upper[i, j] -= scaled * u[j]
            for j in range(g):
                cross[i, j] -= scaled * u[h + j]
        for i in range(g):
            scaled = shrink * u[h + i]
            for j in range(g):
                lower[i, j] -= scaled * u[h + j]
    return choices


@cache
def _compiled(function: Play) -> Play:
    numba = importlib.import_module("numba")
    kernel: Play = numba.njit(cache=True, fastmath=True)(function)
    return kernel


@peer("compiled whole loop (the limit)", "numba", "X·A by BLAS, Sherman–Morrison", exact=True)
def compiled_loop(
    arms: FloatArray, rewards: FloatArray, alpha: float, regularization: float
) -> IntArray:
    """No call per round: an upper limit for a library with a live interface."""
    return _compiled(_whole_loop)(arms, rewards, alpha, regularization)


@peer("contextualbandits.linreg", "contextualbandits.linreg", "caller does the argmax", exact=True)
def contextualbandits(
    arms: FloatArray, rewards: FloatArray, alpha: float, regularization: float
) -> IntArray:
    """One shared LinearRegression in Cython, Sherman–Morrison, in double precision."""
    linreg = importlib.import_module("contextualbandits.linreg")
    # use_float is safe only here: the property's setter refers to an undefined name.
    model = linreg.LinearRegression(
        lambda_=regularization, fit_intercept=False, method="sm", use_float=False
    )
    choices = np.empty(len(arms), dtype=np.int64)
    for t, features in enumerate(arms):
        k = int(model.predict_ucb(features, alpha=alpha).argmax())
        choices[t] = k
        model.partial_fit(features[k : k + 1], rewards[t, k : k + 1])
    return choices


@peer("coba LinUCB", "coba", "features encoded in Python, einsum, Sherman–Morrison", exact=True)
def coba(arms: FloatArray, rewards: FloatArray, alpha: float, regularization: float) -> IntArray:
    """Shared model on action features; its λ is fixed at 1, so features are divided by √λ."""
    learners = importlib.import_module("coba.learners")
    learner = learners.LinUCBLearner(alpha=alpha, features=["a"])
    choices = np.empty(len(arms), dtype=np.int64)
    for t, features in enumerate(arms / np.sqrt(regularization)):
        actions = features.tolist()
        action, probability = learner.predict(None, actions)
        k = actions.index(action)
        choices[t] = k
        learner.learn(None, action, float(rewards[t, k]), probability)
    return choices


@peer("VowpalWabbit regcbopt", "vowpalwabbit", "build examples, predict, learn (SGD)", exact=False)
def vowpalwabbit(
    arms: FloatArray, rewards: FloatArray, alpha: float, regularization: float
) -> IntArray:
    """Optimistic bounds on an SGD learner; α and λ have no counterpart and are ignored."""
    vw = importlib.import_module("vowpalwabbit")
    low, high = -float(rewards.max()), -float(rewards.min())
    workspace = vw.Workspace(
        "--cb_explore_adf --regcbopt --cb_type mtr --noconstant --quiet"
        f" --cb_min_cost={low:.6f} --cb_max_cost={high:.6f}"
    )
    label = vw.LabelType.CONTEXTUAL_BANDIT
    choices = np.empty(len(arms), dtype=np.int64)
    for t, features in enumerate(arms):
        examples = []
        for row in features.tolist():
            example = vw.Example(workspace, labelType=label)
            example.push_features("a", list(enumerate(row)))
            example.setup_example()
            examples.append(example)
        probabilities = workspace.predict(examples)
        k = max(range(len(probabilities)), key=probabilities.__getitem__)
        choices[t] = k
        # The same examples learn: parsing them a second time would halve the speed.
        examples[k].set_label_string(f"0:{-rewards[t, k]}:{probabilities[k]}")
        workspace.learn(examples)
        workspace.finish_example(examples)
    workspace.finish()
    return choices


def _bayesianbandits(
    arms: FloatArray, rewards: FloatArray, regularization: float, policy: object
) -> IntArray:
    library = importlib.import_module("bayesianbandits")
    rounds, n_arms, dimension = arms.shape

    def rows(context: FloatArray, tokens: Sequence[int]) -> FloatArray:
        """Read a context that is all arms' features, flat; an arm's token is its row."""
        return context.reshape(n_arms, dimension)[list(tokens)].T[np.newaxis]

    agent = library.LipschitzContextualAgent(
        arms=[library.Arm(k, learner=None) for k in range(n_arms)],
        policy=policy,
        arm_featurizer=library.FunctionArmFeaturizer(rows),
        learner=library.NormalRegressor(alpha=regularization, beta=1.0),
        random_seed=0,
    )
    choices = np.empty(rounds, dtype=np.int64)
    for t, context in enumerate(arms.reshape(rounds, 1, -1)):
        (k,) = agent.pull(context)
        choices[t] = k
        agent.update(context, rewards[t, k : k + 1])
    return choices


@peer("bayesianbandits UCB", "bayesianbandits", "quantile of 1,000 draws, Cholesky", exact=False)
def bayesianbandits_ucb(
    arms: FloatArray, rewards: FloatArray, alpha: float, regularization: float
) -> IntArray:
    """Shared model; the bound is the Φ(α) quantile, estimated by sampling."""
    library = importlib.import_module("bayesianbandits")
    policy = library.UpperConfidenceBound(alpha=NormalDist().cdf(alpha))
    return _bayesianbandits(arms, rewards, regularization, policy)


@peer("bayesianbandits TS", "bayesianbandits", "one draw, Cholesky per update", exact=False)
def bayesianbandits_ts(
    arms: FloatArray, rewards: FloatArray, alpha: float, regularization: float
) -> IntArray:
    """Shared model, Thompson sampling; α has no counterpart and is ignored."""
    library = importlib.import_module("bayesianbandits")
    return _bayesianbandits(arms, rewards, regularization, library.ThompsonSampling())


@peer("MABWiser LinUCB", "mabwiser.mab", "one model per arm, inverse per update", exact=False)
def mabwiser(
    arms: FloatArray, rewards: FloatArray, alpha: float, regularization: float
) -> IntArray:
    """One model per arm on one context per round, the first arm's features."""
    mab = importlib.import_module("mabwiser.mab")
    policy = mab.LearningPolicy.LinUCB(alpha=alpha, l2_lambda=regularization)
    model = mab.MAB(arms=list(range(arms.shape[1])), learning_policy=policy)
    choices = np.zeros(len(arms), dtype=np.int64)
    model.fit([0], rewards[0, :1], arms[0, :1])  # it predicts only once fitted, so arm 0 is first
    for t in range(1, len(arms)):
        context = arms[t, :1]
        k = int(model.predict(context))
        choices[t] = k
        model.partial_fit([k], rewards[t, k : k + 1], context)
    return choices


@peer("river LinUCBDisjoint", "river.bandit", "one model per arm, features in a dict", exact=False)
def river(arms: FloatArray, rewards: FloatArray, alpha: float, regularization: float) -> IntArray:
    """One model per arm on one context per round; its bound is one deviation, so α is ignored."""
    bandit = importlib.import_module("river.bandit")
    policy = bandit.LinUCBDisjoint(alpha=regularization, beta=1.0, seed=0)
    ids = list(range(arms.shape[1]))
    choices = np.empty(len(arms), dtype=np.int64)
    for t, features in enumerate(arms):
        context = dict(enumerate(features[0].tolist()))
        k = policy.pull(ids, context=context)
        choices[t] = k
        policy.update(k, context, float(rewards[t, k]))
    return choices


def missing() -> dict[str, str]:
    """Peers that cannot be imported here, and why."""
    reasons: dict[str, str] = {}
    for name, candidate in PEERS.items():
        try:
            importlib.import_module(candidate.requires)
        except Exception as error:  # a broken build may raise anything on import
            reasons[name] = f"{type(error).__name__}: {error}"
    return reasons


def available() -> list[Peer]:
    """Peers that can be imported here, in table order."""
    absent = missing()
    return [candidate for name, candidate in PEERS.items() if name not in absent]


def make_problem(rounds: int, dimension: int, n_arms: int, seed: int = 0) -> Problem:
    """Gaussian arms of norm about 1, a Gaussian parameter, noise of scale 0.1."""
    rng = np.random.default_rng(seed)
    parameter = rng.standard_normal(dimension)
    arms = rng.standard_normal((rounds, n_arms, dimension)) / np.sqrt(dimension)
    return arms, arms @ parameter + 0.1 * rng.standard_normal((rounds, n_arms))


def agreement(
    candidate: Peer, *, rounds: int = 200, dimension: int = 20, n_arms: int = 5, seed: int = 0
) -> int:
    """In how many of the first rounds the peer picks the NumPy reference's arm."""
    arms, rewards = make_problem(rounds, dimension, n_arms, seed)
    reference = numpy_loop(arms, rewards, 1.0, 1.0)
    return int((candidate.play(arms, rewards, 1.0, 1.0) == reference).sum())


def rounds_per_cpu_second(
    play: Play,
    make: Callable[[int], Problem],
    *,
    alpha: float = 1.0,
    regularization: float = 1.0,
    cpu_seconds: float = 1.0,
    problem_bytes: int = 2**25,
) -> float:
    """Median rate over repeats of a fresh model, on one BLAS thread, compiled beforehand."""
    rounds = 32
    problem = make(rounds)
    most = max(rounds, problem_bytes * rounds // problem[0].nbytes)

    def seconds() -> float:
        start = process_time()
        play(*problem, alpha, regularization)
        return process_time() - start

    seconds()  # compiles, imports, and loads the BLAS that is limited next
    try:
        limit = importlib.import_module("threadpoolctl").threadpool_limits(1)
    except ImportError:
        limit = nullcontext()
    with limit:
        # At a tenth of a second per repeat the clock and the first rounds are negligible.
        while (taken := seconds()) < 0.1 and rounds < most:
            rounds = min(most, max(2 * rounds, int(0.12 * rounds / max(taken, 1e-6))))
            problem = make(rounds)
        times = [seconds()]
        while len(times) < 3 or (sum(times) < cpu_seconds and len(times) < 500):
            times.append(seconds())
    return rounds / median(times)


def main() -> None:
    """Print the table as Markdown."""
    sizes = ((20, 5), (50, 100), (200, 20))
    print("| system |" + "".join(f" d={d} K={k} |" for d, k in sizes) + " same arm | a round |")
    print("|---" * (len(sizes) + 3) + "|")
    for entry in available():
        makes = [partial(make_problem, dimension=d, n_arms=k) for d, k in sizes]
        rates = [rounds_per_cpu_second(entry.play, make) for make in makes]
        cells = "".join(f" {rate:,.0f} |" for rate in rates)
        print(f"| {entry.name} |{cells} {agreement(entry)}/200 | {entry.note} |", flush=True)
    for name, reason in missing().items():
        print(f"| {name} | {reason} |")


if __name__ == "__main__":
    main()
