"""The named learners straight from their papers: dense algebra, loops, one replication.

Nothing here uses headstart's own: a task is arms (T, K, d) and rewards (T, K), and a function
returns choices (T,) per task.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from headstart.arrays import Floats, Integers


@dataclass(frozen=True)
class GivenTask:
    """Arms (T, K, d), rewards (T, K) and uniform numbers (T, n)."""

    arms: Floats
    rewards: Floats
    uniforms: Floats


@dataclass(frozen=True)
class Variances:
    """s², τ² and κ² of y = xᵀw + N(0, s²), w ~ N(h, τ²I), h ~ N(0, κ²I)."""

    noise: float
    task: float
    mean: float


# Features (T, d) and rewards (T,) of one task, and of several.
Rewarded = tuple[Floats, Floats]
Data = list[Rewarded]


def normal_posterior(
    mean: Floats, cov: Floats, x: Floats, y: Floats, noise: float
) -> tuple[Floats, Floats]:
    """N(mean, cov) after rewards y (T,) of features x (T, d): information form, inverses."""
    before = np.linalg.inv(cov)
    after = np.linalg.inv(before + x.T @ x / noise)
    return np.asarray(after @ (before @ mean + x.T @ y / noise)), np.asarray(after)


def mean_posterior(tasks: Data, v: Variances, d: int) -> tuple[Floats, Floats]:
    """p(h | tasks): each task's rewards are N(Xh, s²I + τ²XXᵀ) once w is integrated out."""
    precision, moment = np.eye(d) / v.mean, np.zeros(d)
    for x, y in tasks:
        inverse = np.linalg.inv(v.noise * np.eye(len(y)) + v.task * x @ x.T)
        precision += x.T @ inverse @ x
        moment += x.T @ inverse @ y
    covariance = np.linalg.inv(precision)
    return np.asarray(covariance @ moment), np.asarray(covariance)


def two_stage(tasks: Data, running: Rewarded, v: Variances) -> tuple[Floats, Floats]:
    """The mean and covariance of HierTS's draw: h̃ ~ p(h | all), then w̃ ~ p(w | h̃, own rewards).

    w̃ is affine in h̃ with independent noise, so its moments follow from those of h̃.
    """
    x, y = running
    d = x.shape[1]
    mean, covariance = mean_posterior([*tasks, running], v, d)
    given_zero, within = normal_posterior(np.zeros(d), v.task * np.eye(d), x, y, v.noise)
    slope = within / v.task
    return given_zero + slope @ mean, within + slope @ covariance @ slope.T


def thompson(mean: Floats, covariance: Floats, arms: Floats, uniforms: Floats) -> int:
    """The best arm under one draw from N(mean, covariance)."""
    draw = mean + np.linalg.cholesky(covariance) @ norm.ppf(uniforms)
    return int(np.argmax(arms @ draw))


# From completed tasks, the running task's data, arms and uniform numbers, and the uniform numbers
# of the task's first round: the arm.
Choose = Callable[[Data, Rewarded, Floats, Floats, Floats], int]


def play(tasks: Sequence[GivenTask], choose: Choose) -> list[Integers]:
    """Play tasks in a row."""
    finished: Data = []
    found = []
    for task in tasks:
        d = task.arms.shape[-1]
        x, y, choices = np.empty((0, d)), np.empty(0), []
        for t, arms in enumerate(task.arms):
            a = choose(finished, (x, y), arms, task.uniforms[t], task.uniforms[0])
            x, y = np.vstack([x, arms[a]]), np.append(y, task.rewards[t, a])
            choices.append(a)
        finished.append((x, y))
        found.append(np.array(choices))
    return found


def lin_ts(noise: float, prior: float) -> Choose:
    def choose(finished: Data, own: Rewarded, arms: Floats, u: Floats, u0: Floats) -> int:
        d = arms.shape[1]
        return thompson(*normal_posterior(np.zeros(d), prior * np.eye(d), *own, noise), arms, u)

    return choose


def meta_ts(v: Variances) -> Choose:
    def choose(finished: Data, own: Rewarded, arms: Floats, u: Floats, u0: Floats) -> int:
        d = arms.shape[1]
        mean, covariance = mean_posterior(finished, v, d)
        sampled = mean + np.linalg.cholesky(covariance) @ norm.ppf(u0[:d])
        posterior = normal_posterior(sampled, v.task * np.eye(d), *own, v.noise)
        return thompson(*posterior, arms, u[d:])

    return choose


def ada_ts(v: Variances) -> Choose:
    def choose(finished: Data, own: Rewarded, arms: Floats, u: Floats, u0: Floats) -> int:
        d = arms.shape[1]
        mean, covariance = mean_posterior(finished, v, d)
        start = covariance + v.task * np.eye(d)
        return thompson(*normal_posterior(mean, start, *own, v.noise), arms, u)

    return choose


def hier_bayes_ucb(v: Variances, delta: float) -> Choose:
    def choose(finished: Data, own: Rewarded, arms: Floats, u: Floats, u0: Floats) -> int:
        mean, covariance = two_stage(finished, own, v)
        widths = np.array([np.sqrt(x @ covariance @ x) for x in arms])
        return int(np.argmax(arms @ mean + np.sqrt(2 * np.log(1 / delta)) * widths))

    return choose


def bayes_oracle(v: Variances, mean: Floats, z: float) -> Choose:
    def choose(finished: Data, own: Rewarded, arms: Floats, u: Floats, u0: Floats) -> int:
        known = v.task * np.eye(len(mean))
        center, covariance = normal_posterior(mean, known, *own, v.noise)
        widths = np.array([np.sqrt(x @ covariance @ x) for x in arms])
        return int(np.argmax(arms @ center + z * widths))

    return choose


def meta_lin_exp3(
    tasks: Sequence[GivenTask], *, start: str, n_tasks: int, mu: float, lam: float, delta: float
) -> list[tuple[Integers, Floats]]:
    """Meta-LinEXP3 as published, L the largest ‖b‖ so far: choices (T,) and all p's (T, K)."""
    seen: list[Floats] = []
    directions: list[Floats] = []
    found = []
    for task in tasks:
        n, k, d = task.arms.shape
        eta, gamma = np.sqrt(np.log(k) / n), np.sqrt(np.log(k) / (n_tasks * n))
        big = np.log(2 * d * n_tasks * n / delta)
        h, total = published_start(directions, start, d), np.zeros(d)
        choices, all_p = [], []
        bound = max((np.linalg.norm(b) for b in seen), default=0.0)
        for t, arms in enumerate(task.arms):
            bound = max(bound, *(np.linalg.norm(b) for b in arms))
            q = np.exp([-mu * b @ h - eta * b @ total for b in arms])
            p = (1 - gamma) * q / q.sum() + gamma / k
            a = int(np.searchsorted(np.cumsum(p), task.uniforms[t, 0], side="right"))
            count = len(seen)
            mean, xi = np.zeros((d, d)), bound**2
            if count:
                mean = np.array(seen).T @ np.array(seen) / count
                root = np.sqrt(2 * big / count + big**2 / (9 * count**2))
                xi = bound**2 * (big / (3 * count) + root)
            values, vectors = np.linalg.eigh(mean + xi * np.eye(d))
            inverse = vectors @ np.diag(1 / np.maximum(values, lam)) @ vectors.T
            total = total + inverse @ arms[a] * -task.rewards[t, a] / (k * p[a])
            seen.extend(arms)
            choices.append(a)
            all_p.append(p)
        directions.append(total / np.linalg.norm(total))
        found.append((np.array(choices), np.array(all_p)))
    return found


def published_start(directions: Sequence[Floats], start: str, d: int) -> Floats:
    """The start h after completed tasks."""
    if start == "none" or not directions:
        return np.zeros(d)
    weights = np.ones(len(directions))
    if start == "pcrw":
        last = directions[-1]
        weights = np.array([max(float(v @ last), 0.0) + 1.0 / len(directions) for v in directions])
    return np.asarray(weights / weights.sum() @ np.array(directions))
