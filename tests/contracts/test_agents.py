"""What every agent must do: those of the package, and one of each kind that users may write."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tests.contracts.finding import implementing, instances

import headstart as hs
from headstart import learners, simulation, testing
from headstart.arrays import Floats
from headstart.policies import OFUL, BayesUCB, Greedy, Thompson, Uniform
from headstart.priors import Average, Fixed, Hierarchical, Pooled
from headstart.simulation import Agent, InformedAgent, Rounds, State

ENVIRONMENT = hs.environments.Synthetic(dimension=3, n_arms=4)

SETTINGS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "Learner": [
        {"name": "ITL", "policy": OFUL(), "prior": Fixed.zero()},
        {"name": "AVG", "policy": Thompson(), "prior": Average()},
        {"name": "RR", "policy": Greedy(), "prior": Pooled()},
        {"name": "still", "policy": Uniform(), "prior": Pooled(within_task=False)},
        {"name": "ours", "policy": BayesUCB(), "prior": Hierarchical()},
        {"name": "isotropic", "policy": Thompson(), "prior": Hierarchical(covariance="isotropic")},
    ],
    "MetaLinEXP3": [
        {"start": "uniform", "arm_bound": [1.0, 1.5, 2.0, 2.5, 3.0]},
        {"start": "none", "rate": 0.5},
    ],
}


@dataclass
class Regression:
    """A model as a library may have it: one object per replication, which changes as it learns."""

    weights: Floats

    def predict(self, features: Floats) -> Floats:
        return features @ self.weights

    def update(self, features: Floats, reward: float) -> None:
        self.weights += 0.1 * (reward - features @ self.weights) * features


@dataclass(frozen=True)
class Wrapped:
    """An agent whose state holds objects."""

    name: str = "wrapped"

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        return n_arms

    def begin(self, dimension: int, replications: int) -> State:
        models = np.empty(replications, dtype=object)
        models[:] = [Regression(np.zeros(dimension)) for _ in range(replications)]
        return {"model": models}

    def models(self, state: State) -> Any:
        return copy.deepcopy(state["model"])

    def play(self, state: State, rounds: Rounds) -> Any:
        models = self.models(state)
        while not rounds.over:
            predictions = [m.predict(x) for m, x in zip(models, rounds.arms, strict=True)]
            scores = np.stack(predictions) + 0.5 * rounds.uniforms
            _, rewards = rounds.choose_largest(scores)
            for model, x, reward in zip(models, rounds.features, rewards, strict=True):
                model.update(x, reward)
        return models

    def learn(self, state: State, played: Any) -> State:
        return {"model": played}


AGENTS: dict[str, Agent] = {
    **instances(simulation, Agent, SETTINGS),
    **instances(learners, Agent, SETTINGS),
    "Wrapped": Wrapped(),
}
INFORMED: dict[str, InformedAgent] = instances(simulation, InformedAgent, {})

every_agent = pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS.keys())
every_law = pytest.mark.parametrize("law", testing.LAWS, ids=lambda law: law.__name__)


def test_agents_are_found() -> None:
    assert {kind.__name__ for kind in implementing(simulation, Agent)} == {"Learner"}
    assert {kind.__name__ for kind in implementing(simulation, InformedAgent)} == {"Optimal"}
    found = {kind.__name__ for kind in implementing(learners, Agent)}
    assert found == {"MetaLinEXP3", "MetaTS"}


@every_law
@every_agent
def test_every_agent_keeps_every_law(agent: Agent, law: testing.Law) -> None:
    law(agent, ENVIRONMENT)


@pytest.mark.parametrize("agent", INFORMED.values(), ids=INFORMED.keys())
def test_informed_agents_keep_all_laws_but_one(agent: InformedAgent) -> None:
    testing.check_agent(agent, ENVIRONMENT)
    with pytest.raises(AssertionError, match="choices"):
        testing.means_are_never_seen(agent, ENVIRONMENT)


def test_nothing_that_an_agent_is_shown_holds_the_means() -> None:
    task = ENVIRONMENT.sample(4, 2, np.random.default_rng(0))
    rounds = Rounds(task, np.zeros((2, 4, 1)))
    for name, value in vars(rounds).items():
        assert not isinstance(value, hs.Task), name
        if isinstance(value, np.ndarray):
            assert not np.shares_memory(value, task.means), name


class _OwnGenerator(Wrapped):
    rng = np.random.default_rng(0)

    def play(self, state: State, rounds: Rounds) -> Any:
        while not rounds.over:
            rounds.choose(self.rng.integers(rounds.n_arms, size=rounds.replications))
        return state["model"]


class _Pooling(Wrapped):
    def play(self, state: State, rounds: Rounds) -> Any:
        best = 0
        while not rounds.over:
            rewards = rounds.choose(np.full(rounds.replications, best))
            best = (best + round(7 * float(rewards.sum()))) % rounds.n_arms
        return state["model"]


class _InPlace(Wrapped):
    def models(self, state: State) -> Any:
        return state["model"]


class _Foreseeing(Wrapped):
    def play(self, state: State, rounds: Rounds) -> Any:
        while not rounds.over:
            rounds.choose_largest(rounds._payoffs[len(rounds.choices.T)])
        return state["model"]


class _Counterfactual(Wrapped):
    """Chooses blindly, and learns from the rewards of all arms."""

    def play(self, state: State, rounds: Rounds) -> Any:
        models = self.models(state)
        while not rounds.over:
            scores = [m.predict(x) for m, x in zip(models, rounds.arms, strict=True)]
            t = len(rounds.choices.T)
            rounds.choose_largest(np.stack(scores))
            for r, model in enumerate(models):
                model.update(rounds._arms[t][r, 0], rounds._payoffs[t][r, 0])
        return models


@pytest.mark.parametrize(
    ("agent", "law"),
    [
        (_OwnGenerator(), testing.same_seed_same_numbers),
        (_OwnGenerator(), testing.other_agents_change_nothing),
        (_Pooling(), testing.chunks_and_threads_change_nothing),
        (_InPlace(), testing.states_are_not_modified),
        (_Foreseeing(), testing.no_reward_is_seen_before_its_round),
        (_Counterfactual(), testing.no_reward_is_seen_of_arms_not_chosen),
    ],
    ids=lambda case: getattr(case, "__name__", type(case).__name__),
)
def test_laws_are_not_blind(agent: Agent, law: testing.Law) -> None:
    with pytest.raises(AssertionError):
        law(agent, ENVIRONMENT)


def test_a_broken_law_is_named() -> None:
    with pytest.raises(AssertionError, match="wrapped breaks states_are_not_modified"):
        testing.check_agent(_InPlace())
