"""Effects of a catalogue's items: against a slow model, and in every way to learn them."""

import math
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headstart as hs
from headstart.arrays import Floats
from headstart.core.statistics import TaskStatistics
from headstart.live import Outcome, _item_effects
from headstart.live._counted import Contribution
from headstart.live._item_effects import itemized
from headstart.live._population import Change, Population
from headstart.live.settings import Settings
from headstart.logs import ItemColumn

D = 3
ITEMS = {f"item {i}": x for i, x in enumerate(np.random.default_rng(0).normal(size=(12, D)))}
EFFECTS = dict(zip(ITEMS, np.random.default_rng(1).normal(0.0, 1.5, len(ITEMS)), strict=True))


def bandit_of(**options: Any) -> hs.MetaBandit:
    return hs.MetaBandit(dimension=D, seed=0, **{"item_effects": True, "scales": None, **options})


def reward_of(item: Hashable, rng: np.random.Generator) -> float:
    x = ITEMS[str(item)]
    return float(x.sum() + EFFECTS[str(item)] + rng.normal(0.0, 0.3))


def shown(bandit: hs.MetaBandit, catalogue: hs.Catalogue, task: str, item: str) -> hs.Decision:
    return bandit.decide(task, catalogue, mask=[item])


def taught(n_tasks: int = 15, **options: Any) -> tuple[hs.MetaBandit, list[tuple[str, float]]]:
    """A bandit whose tasks were shown any items, and what those earned."""
    bandit, catalogue = bandit_of(**options), hs.Catalogue(ITEMS)
    rng, seen = np.random.default_rng(2), []
    for i in range(n_tasks):
        for item in rng.choice(list(ITEMS), 6):
            decision = shown(bandit, catalogue, f"task {i}", str(item))
            value = reward_of(item, rng)
            assert bandit.reward(decision.id, value) is Outcome.PAID
            seen.append((str(item), value))
    return bandit, seen


def slow_effects(seen: list[tuple[str, float]]) -> tuple[Mapping[str, float], Floats]:
    """The most likely effects by the covariance of all rewards, and what changes about w."""
    names = sorted({item for item, _ in seen})
    x = np.array([ITEMS[item] for item, _ in seen])
    y = np.array([value for _, value in seen])
    which = np.array([[item == name for name in names] for item, _ in seen], dtype=float)
    usual = float(y @ y) / len(y)

    def fit(precision: float, ratio: float) -> tuple[float, float, float, Floats, Floats]:
        covariance = np.eye(len(y)) + x @ x.T / precision + which @ which.T / ratio
        weights = np.linalg.solve(covariance, y)
        likelihood = -0.5 * np.linalg.slogdet(covariance)[1]
        likelihood -= 0.5 * (len(y) + 1) * math.log(float(y @ weights) + usual)
        return likelihood, precision, ratio, which.T @ weights / ratio, x.T @ weights / precision

    without = max(
        (fit(precision, math.inf) for precision in (0.1, 1.0, 10.0, 100.0, 1e3)),
        key=lambda one: one[0],
    )
    ratios = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4)
    best = max((without, *(fit(without[1], ratio) for ratio in ratios)), key=lambda one: one[0])
    return dict(zip(names, best[3].tolist(), strict=True)), best[4] - without[4]


def test_effects_are_those_of_a_model_of_all_rewards() -> None:
    bandit, seen = taught()
    effects, shift = slow_effects(seen)
    assert any(effects.values())
    assert bandit.item_effects() == pytest.approx(effects)
    catalogue = hs.Catalogue(ITEMS)
    for item, x in ITEMS.items():
        decision = shown(bandit, catalogue, "new", item)
        explanation, view = bandit.explain(decision), bandit.task("new")
        assert explanation.arm == item
        assert explanation.item_effect == pytest.approx(effects[item])
        mean = x @ (view.estimate.parameter + shift) + effects[item]
        assert explanation.mean == pytest.approx(mean)
        assert explanation.contributions.sum() == pytest.approx(mean - effects[item])
        # It is rounded as the largest part of the mean is, to four digits.
        written = float(str(explanation).split("the item itself: ")[1])
        assert written == pytest.approx(effects[item], abs=1e-3 * max(1.0, abs(mean)))


def test_a_greedy_choice_is_by_features_and_effect() -> None:
    bandit, _ = taught(policy=hs.policies.Greedy())
    catalogue = hs.Catalogue(ITEMS)
    decision = bandit.decide("new", catalogue)
    means = [bandit.explain(shown(bandit, catalogue, "new", item)).mean for item in ITEMS]
    np.testing.assert_allclose(decision.scores, means, rtol=1e-9)
    assert decision.arm == list(ITEMS)[int(np.argmax(means))]


POLICIES = [None, hs.policies.Greedy(), hs.policies.BayesUCB(), hs.policies.Thompson()]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
def test_one_and_many_score_alike_in_any_way_to_give_a_catalogue(policy: Any) -> None:
    bandit, _ = taught(policy=policy)
    catalogue = hs.Catalogue(ITEMS)
    raw = {item: {f"x{i}": value for i, value in enumerate(x)} for item, x in ITEMS.items()}
    with_context = hs.Features(
        item=[hs.Number(f"x{i}", mean=0.0, scale=1.0) for i in range(D)],
        context=[hs.Category("device", levels=["phone", "watch"])],
    )
    by_schema = hs.MetaBandit(
        features=with_context, policy=policy, seed=0, item_effects=True, scales=None
    )
    rng = np.random.default_rng(3)
    menu = hs.Catalogue(raw, features=with_context)
    for i in range(60):
        decision = by_schema.decide(i % 9, menu, mask=[list(ITEMS)[i % len(ITEMS)]])
        by_schema.reward(decision.id, reward_of(decision.arm, rng))
    for each, arms in ((bandit, catalogue), (by_schema, menu)):
        assert each.item_effects()
        if policy is not None and policy.n_uniforms(len(ITEMS), D):
            assert each.propensities("new", arms).sum() == pytest.approx(1.0)
            continue
        alone = each.decide("new", arms)
        together = each.decide_many(["new", "other"], arms)
        np.testing.assert_allclose(together.scores[0], alone.scores, rtol=1e-9)
        assert alone.propensity == pytest.approx(each.propensities("new", arms)[alone.arm_index])


@given(data=st.data())
@settings(max_examples=6, deadline=None)
def test_what_is_known_in_the_end_is_what_was_told_in_the_end(data: st.DataObject) -> None:
    """Rewards late, corrected, cancelled, left to their default, and of tasks that are erased."""
    draw: Callable[[Any], Any] = data.draw
    now = [0.0]
    discount = draw(st.sampled_from([1.0, 0.9]))
    waits = {"deadline_seconds": 100.0, "default_reward": 0.0}
    late = bandit_of(clock=lambda: now[0], discount=discount, **waits)
    plain = bandit_of(discount=discount)
    catalogue = hs.Catalogue(ITEMS)
    rng = np.random.default_rng(draw(st.integers(0, 100)))
    told: list[list[Any]] = []
    for i in range(20):
        task, item = f"task {i % 4}", f"item {rng.integers(6)}"
        decision = shown(late, catalogue, task, item)
        value, weight = reward_of(item, rng), float(rng.choice([1.0, 2.0]))
        told.append([decision.id, task, item, value, weight, rng.integers(5)])
    for k in rng.permutation(len(told)):
        decision_id, *_, value, weight, fate = told[k]
        if fate == 0:
            told[k][3:5] = 0.0, 1.0  # no news: the default
        elif fate == 1:
            assert late.reward(decision_id, 0.0) is Outcome.PAID
            assert late.reward(decision_id, value, weight) is Outcome.PAID
        elif fate == 2 and discount == 1.0:
            assert late.cancel(decision_id)
            told[k][4] = 0.0
        elif fate == 3:
            assert late.reward_many([decision_id], [value], [weight]) == [Outcome.PAID]
        else:
            assert late.reward(decision_id, value, weight) is Outcome.PAID
    now[0] = 200.0
    late.decide("task 5", ITEMS)  # all others have expired by now
    for _, task, item, value, weight, _ in told:
        if weight:
            decision = shown(plain, catalogue, task, item)
            plain.reward(decision.id, value, weight)
    if draw(st.booleans()):
        late.forget("task 1")
        plain.forget("task 1")
    assert late.item_effects() == pytest.approx(plain.item_effects())


def test_erasing_all_tasks_leaves_no_effect() -> None:
    bandit, _ = taught(3)
    assert bandit.item_effects()
    for i in range(3):
        bandit.forget(f"task {i}")
    assert bandit.item_effects() == {}


def test_there_are_none_without_a_catalogue_and_none_that_features_explain() -> None:
    for arms, effects in ((ITEMS, 1.0), (hs.Catalogue(ITEMS), 0.0)):
        with_effects, without = bandit_of(), bandit_of(item_effects=False)
        rng = np.random.default_rng(0)
        for i in range(80):
            one, other = (each.decide(i % 8, arms) for each in (with_effects, without))
            np.testing.assert_array_equal(one.scores, other.scores)
            item = str(one.arm)
            value = ITEMS[item].sum() + effects * EFFECTS[item] + rng.normal()
            for each, decision in ((with_effects, one), (without, other)):
                each.reward(decision.id, value)
        assert with_effects.item_effects() == without.item_effects() == {}


def test_a_new_item_starts_from_its_features_and_one_that_returns_goes_on() -> None:
    bandit, _ = taught()
    catalogue = hs.Catalogue(ITEMS)
    before = bandit.item_effects()
    catalogue.remove("item 3")
    catalogue.add({"new": ITEMS["item 3"]})
    fresh = bandit.explain(shown(bandit, catalogue, "ann", "new"))
    assert fresh.item_effect == 0.0
    catalogue.add({"item 3": ITEMS["item 3"]})
    known = bandit.explain(shown(bandit, catalogue, "ann", "item 3"))
    assert known.item_effect == pytest.approx(before["item 3"])
    assert known.mean == pytest.approx(fresh.mean + before["item 3"])
    assert known.width < fresh.width


def test_saved_loaded_copied_and_merged_bandits_have_the_same_effects(tmp_path: Path) -> None:
    bandit, _ = taught(default_reward=0.0, deadline_seconds=1e9)
    items: dict[Hashable, Floats] = {("tuple", 1): ITEMS["item 1"], 7: ITEMS["item 2"]}
    catalogue = hs.Catalogue(items | {**ITEMS})
    for task in ("ann", "bob"):
        bandit.reward(shown(bandit, catalogue, task, 7).id, 3.0)  # type: ignore[arg-type]
    waiting = bandit.decide("ann", catalogue, mask=[("tuple", 1)])
    bandit.save(tmp_path / "bandit.npz")
    loaded = hs.MetaBandit.load(tmp_path / "bandit.npz", seed=0)
    expected = bandit.item_effects()
    assert {("tuple", 1), 7} <= set(expected)
    assert loaded.item_effects() == expected
    merged = bandit_of(default_reward=0.0, deadline_seconds=1e9).merge(bandit)
    assert merged.item_effects() == pytest.approx(expected)
    for each in (bandit, loaded, merged):
        assert each.reward(waiting.id, 5.0) is Outcome.PAID
    after = bandit.item_effects()
    assert after["tuple", 1] != expected["tuple", 1]
    assert loaded.item_effects() == pytest.approx(after)
    assert merged.item_effects() == pytest.approx(after)
    scores = [each.decide("new", catalogue).scores for each in (bandit, loaded, merged)]
    np.testing.assert_allclose(scores[1], scores[0], rtol=1e-9)
    np.testing.assert_allclose(scores[2], scores[0], rtol=1e-6)


def test_items_alike_in_their_features_are_told_apart() -> None:
    catalogue = hs.Catalogue({item: [1.0] for item in ITEMS})
    best = max(EFFECTS.values())
    for seed in range(3):
        bandit = hs.MetaBandit(dimension=1, seed=seed, item_effects=True)
        rng, means = np.random.default_rng(seed), []
        for i in range(80):
            for _ in range(3):
                decision = bandit.decide(i, catalogue)
                means.append(EFFECTS[str(decision.arm)])
                bandit.reward(decision.id, means[-1] + rng.normal(0.0, 0.5))
        assert np.mean(means[-60:]) > best - 0.2


def test_whether_there_are_effects_is_a_setting() -> None:
    with pytest.raises(ValueError, match="item_effects must be True or False, got 'yes'"):
        bandit_of(item_effects="yes")


def test_a_task_and_its_decision_give_one_explanation() -> None:
    bandit, catalogue = taught()[0], hs.Catalogue(ITEMS)
    item = max(EFFECTS, key=lambda name: abs(EFFECTS[name]))
    decision = shown(bandit, catalogue, "task 0", item)
    effect = bandit.item_effects()[item]
    of_decision, view = bandit.explain(decision), bandit.task("task 0")
    of_task = view.explain(ITEMS[item], arm=item)
    assert of_task.item_effect == effect != 0.0
    assert of_task.mean == pytest.approx(of_decision.mean, rel=1e-9)
    assert of_task.width == pytest.approx(of_decision.width, rel=1e-9)
    assert view.interval(ITEMS[item], arm=item) == of_task.interval
    assert view.explain(ITEMS[item]).item_effect == 0.0


def test_effects_that_are_given_are_not_fitted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if there are none: a decision would wait for the fit."""
    population = Population(D, hs.priors.Hierarchical(), Settings(scales=None))
    rewards: dict[Hashable, Floats] = {name: np.array([2.0, 1.0, *x]) for name, x in ITEMS.items()}
    task = itemized(TaskStatistics.from_data(np.eye(D), np.ones(D)), rewards)
    state = population.replaced(population.state, [Change("ann", None, Contribution(task, 0.0))])
    assert state.items is not None
    population.install(state, population.starting_from(state.memory), None)
    monkeypatch.setattr(_item_effects, "fit", None)
    assert population.item_effects is None


def _log_of(seen: list[tuple[str, float]]) -> pd.DataFrame:
    """What `taught` has seen, 6 rewards a task."""
    names = [f"task {i // 6}" for i in range(len(seen))]
    items, values = zip(*seen, strict=True)
    return pd.DataFrame({"task": names, "item": items, "reward": values})


@pytest.mark.parametrize("remember_tasks", [False, True])
def test_effects_are_learned_from_logs(remember_tasks: bool) -> None:
    bandit, seen = taught()
    log = _log_of(seen)
    fitted = bandit_of().fit(log, features=ItemColumn("item", ITEMS), remember_tasks=remember_tasks)
    assert fitted.item_effects() == pytest.approx(bandit.item_effects())
    assert any(fitted.item_effects().values())
    numbers = [f"x{a}" for a in range(D)]
    log[numbers] = np.array([ITEMS[item] for item in log["item"]])
    named = bandit_of().fit(log, features=numbers, item="item", remember_tasks=remember_tasks)
    assert named.item_effects() == pytest.approx(bandit.item_effects())
    assert bandit_of(item_effects=False).fit(log, features=numbers, item="item").n_finished == 15


def test_a_task_of_a_log_is_forgotten_with_its_items() -> None:
    _, seen = taught()
    log = _log_of(seen)
    column = ItemColumn("item", ITEMS)
    fitted = bandit_of().fit(log, features=column, remember_tasks=True)
    fitted.fit(log[:3], features=column, remember_tasks=True)  # more of a known task
    fitted.forget("task 0")
    expected = bandit_of().fit(log[6:], features=column, remember_tasks=True)
    assert fitted.item_effects() == pytest.approx(expected.item_effects())
