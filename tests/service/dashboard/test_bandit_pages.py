"""Pages of bandits that are new, guarded, in shadow mode or with items of two weeks."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.service.dashboard.client import PageClient
from tests.service.dashboard.conftest import pages_of
from tests.service.shop import FEATURES, Shop, arms, opened
from tests.waiting import until

from headstart.service.dashboard import application
from headstart.service.messages import (
    BanditConfiguration,
    DecisionAnswer,
    DecisionRequest,
    Guardrail,
    Item,
    RewardRequest,
)

pytestmark = pytest.mark.slow

DAY = 86_400.0


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Shop]:
    """A service without bandits."""
    with opened(tmp_path / "store.sqlite", tmp_path) as shop:
        yield shop


def plain(html: str) -> str:
    """The words of a page."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def words_of(shop: Shop, path: str) -> str:
    answer = pages_of(shop).get(path)
    assert answer.status_code == 200
    return plain(answer.text)


def decide(shop: Shop, bandit: str, n: int, **given: object) -> list[DecisionAnswer]:
    requests = [DecisionRequest(task=f"user-{i:04d}", **given) for i in range(n)]  # type: ignore[arg-type]
    answers = shop.service.decide(bandit, requests).result(60)
    assert all(isinstance(answer, DecisionAnswer) for answer in answers)
    return [answer for answer in answers if isinstance(answer, DecisionAnswer)]


def pay(shop: Shop, bandit: str, rewards: list[RewardRequest]) -> None:
    shop.service.reward(bandit, rewards).result(60)


def mean_on(shop: Shop, path: str) -> float:
    """The mean reward that a page shows."""
    found = re.search(r"Mean reward ([\d.]+)", words_of(shop, path))
    assert found is not None
    return float(found[1])


def test_one_mean_over_decisions_everywhere(empty: Shop) -> None:
    """Decisions that wait count as their default: of 20, one was paid."""
    settings = BanditConfiguration(
        feature_names=FEATURES, default_reward=0.0, deadline_seconds=3_600.0
    )
    empty.service.put_bandit("drinks", settings)
    empty.service.put_items("drinks", arms())
    answers = decide(empty, "drinks", 19) + decide(empty, "drinks", 1)
    pay(empty, "drinks", [RewardRequest(decision=answers[-1].id, value=1.0)])
    assert mean_on(empty, "/items?bandit=drinks") == 0.05
    assert mean_on(empty, "/?bandit=drinks") == 0.05
    assert mean_on(empty, "/?bandit=drinks&window=month") == 0.05
    assert mean_on(empty, "/task?bandit=drinks&task=user-0000") == 0.5  # decided twice


def test_items_are_counted_by_days(empty: Shop) -> None:
    now = empty.clock.now
    empty.service.put_bandit("drinks", BanditConfiguration(feature_names=FEATURES))
    empty.service.put_items("drinks", arms())
    empty.clock.now = now - 8 * DAY
    decide(empty, "drinks", 10, arms=["Mocha"])
    empty.clock.now = now
    answers = decide(empty, "drinks", 90, arms=["Mocha"])
    answers += decide(empty, "drinks", 30, arms=["Cortado"])
    clicks = [RewardRequest(decision=a.id, value=float(i % 3 == 0)) for i, a in enumerate(answers)]
    pay(empty, "drinks", clicks)
    page = words_of(empty, "/items?bandit=drinks")
    assert "Decisions 120 Earned 40.0 Mean reward 0.333 Items shown 2 of" in page
    assert "Top item 75.0 % Mocha" in page
    assert "Decisions 130" in words_of(empty, "/items?bandit=drinks&days=28")


def test_items_are_sorted_searched_and_paged(empty: Shop) -> None:
    empty.service.put_bandit("many", BanditConfiguration(dimension=2))
    items = [Item(id=f"item-{i:03d}", features=[1.0, i / 100]) for i in range(120)]
    empty.service.put_items("many", items)
    decide(empty, "many", 3, arms=["item-007"])
    client = pages_of(empty)

    def shown(query: str) -> list[str]:
        return re.findall(
            r"item-\d{3}(?=</a></th>)", client.get(f"/items?bandit=many&{query}").text
        )

    assert shown("")[:2] == ["item-007", "item-000"]
    assert shown("sort=item")[:2] == ["item-000", "item-001"]
    assert shown("sort=item&reverse=1")[0] == "item-119"
    assert shown("sort=item&first=100")[0] == "item-100"
    assert len(shown("sort=item&first=100")) == 20
    assert shown("search=TEM-11") == [f"item-{i}" for i in range(110, 120)]
    assert "No item contains" in words_of(empty, "/items?bandit=many&search=none")


def test_a_decision_says_what_its_reward_is_made_of(empty: Shop) -> None:
    configuration = BanditConfiguration(
        feature_names=FEATURES,
        parts="max",
        control_share=0.1,
        guardrails=[Guardrail(name="revenue", worse="lower")],
    )
    empty.service.put_bandit("parts", configuration)
    empty.service.put_items("parts", arms())
    [answer] = decide(empty, "parts", 1)
    pay(
        empty,
        "parts",
        [
            RewardRequest(decision=answer.id, value=1.0, key="click"),
            RewardRequest(decision=answer.id, value=2.5, key="sale", metrics={"revenue": 12.5}),
        ],
    )
    page = words_of(empty, f"/decision?bandit=parts&id={answer.id}")
    assert "The reward is the largest of its parts" in page
    assert re.search(r"sale [\d:]+ 2\.50 12\.5 ", page)


def test_a_broken_guardrail_is_a_banner_until_somebody_resumes(empty: Shop) -> None:
    rng = np.random.default_rng(0)
    guardrails = [Guardrail(name="refund", worse="higher", margin=0.1, pause=True)]
    configuration = BanditConfiguration(
        feature_names=FEATURES, control_share=0.5, guardrails=guardrails
    )
    empty.service.put_bandit("guarded", configuration)
    empty.service.put_items("guarded", arms())
    [first, *_] = decide(empty, "guarded", 4)
    pay(empty, "guarded", [RewardRequest(decision=first.id, value=1.0)])
    empty.service.refresh("guarded")
    requests = [DecisionRequest(task=f"later-{i}") for i in range(150)]
    answers = empty.service.decide("guarded", requests).result(60)
    pay(
        empty,
        "guarded",
        [
            RewardRequest(
                decision=answer.id,
                value=1.0,
                metrics={"refund": float(rng.random() < (0.1 if answer.control else 0.9))},
            )
            for answer in answers
            if isinstance(answer, DecisionAnswer)
        ],
    )
    until(lambda: empty.service.bandit("guarded").paused is not None)
    page = words_of(empty, "/?bandit=guarded")
    assert "A guardrail is broken: refund." in page
    assert re.search(r"refund not higher by more than 0\.1 broken", page)
    assert "Resume warm starts" in page
    answer = pages_of(empty).post("/resume", data={"bandit": "guarded"})
    assert "start warm again" in answer.text
    assert empty.service.bandit("guarded").paused is None
    assert "Resume warm starts" not in words_of(empty, "/?bandit=guarded")


def test_shadow_mode_is_ended_by_a_button(empty: Shop) -> None:
    configuration = BanditConfiguration(feature_names=FEATURES, shadow=True)
    empty.service.put_bandit("shadow", configuration)
    empty.service.put_items("shadow", arms())
    answers = decide(empty, "shadow", 5, own="Mocha", own_propensity=0.5)
    page = words_of(empty, f"/decision?bandit=shadow&id={answers[0].id}")
    assert "The application's own choice was served" in plain(page).replace("&#39;", "'")
    overview = words_of(empty, "/?bandit=shadow")
    assert re.search(r"the same arm in [\d.]+ % of 5 decisions", overview)
    assert "Switch over" in overview
    reader = PageClient(application(empty.service, empty.jobs))
    assert "Switch over" not in reader.get("/?bandit=shadow").text
    client = pages_of(empty)
    assert "has ended" in client.post("/shadow/end", data={"bandit": "shadow"}).text
    assert not empty.service.bandit("shadow").configuration.shadow
