"""Effects of items in the service: those of a bandit in memory that was told the same."""

import numpy as np
import pytest
from tests.service.engine.setting import D, decided, items, largest_error, paid, shop

import headstart as hs
from headstart.service.engine.configuration import model_of
from headstart.service.engine.service import Service
from headstart.service.engine.views import item_effects
from headstart.service.messages import ObservationRequest
from headstart.service.store import bandits

pytestmark = pytest.mark.slow

FEATURES = {item.id: np.array(item.features) for item in items()}


def effects_of(service: Service) -> dict[str, float]:
    service.refresh("shop")
    with service.database.reading() as connection:
        row = bandits.named(connection, "shop")
        return item_effects(connection, row, model_of(row.configuration, service.clock))


def test_effects_are_those_of_a_bandit_in_memory_and_go_with_erased_tasks(store: str) -> None:
    rng = np.random.default_rng(0)
    own = dict(zip(FEATURES, (2.0, -2.0, 1.0, -1.0, 0.0), strict=True))
    told: list[tuple[str, str, float, float]] = []
    with shop(store, deadline_seconds=3_600.0, default_reward=0.0) as service:
        for i in range(24):
            task, item = f"task {i % 6}", str(rng.choice(list(FEATURES)))
            value = float(FEATURES[item].sum() + own[item] + rng.normal(0.0, 0.1))
            if i % 8 == 7:
                seen = ObservationRequest(task=task, arm=item, value=value)
                service.observe("shop", [seen]).result(120)
                told.append((task, item, value, 1.0))
                continue
            (answer,) = decided(service, task, arms=[item])
            weight = 2.0 if i % 8 == 3 else 1.0
            if i % 8 == 2:
                told.append((task, item, 0.0, 1.0))  # it waits, and counts as its default
                continue
            if i % 8 == 4:
                assert paid(service, [answer.id], 0.0) == ["paid"]
            assert paid(service, [answer.id], value, weight=weight) == ["paid"]
            told.append((task, item, value, weight))
        (given,) = decided(service, "task 1", arms={"item0": [1.0] * D})
        assert service.decision("shop", given.id).item_effect is None
        assert largest_error(service) < 1e-12
        expected = _replayed([*told, ("task 1", "", 0.0, 1.0)])
        effects = effects_of(service)
        assert any(effects.values())
        assert effects == pytest.approx(expected)
        (answer,) = decided(service, "new", arms=["item0"])
        record = service.decision("shop", answer.id)
        assert record.item_effect == pytest.approx(expected["item0"])
        parts = sum(part.from_prior + part.from_rewards for part in record.contributions)
        assert record.mean == pytest.approx(parts + expected["item0"], rel=1e-5)
        service.erase("shop", "new")
        service.erase("shop", "task 1")
        assert effects_of(service) == pytest.approx(
            _replayed([each for each in told if each[0] != "task 1"])
        )
    with shop(store) as service:  # as it was stored
        assert largest_error(service) < 1e-12


def _replayed(told: list[tuple[str, str, float, float]]) -> dict[object, float]:
    bandit, catalogue = hs.MetaBandit(dimension=D, seed=0), hs.Catalogue(FEATURES)
    for task, item, value, weight in told:
        if item:
            decision = bandit.decide(task, catalogue, mask=[item])
            bandit.reward(decision.id, value, weight)
        else:
            bandit.observe(task, [1.0] * D, value, weight)
    return dict(bandit.item_effects())
