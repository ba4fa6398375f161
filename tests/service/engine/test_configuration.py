"""A bandit's configuration has the settings of live use that a store has too."""

from pathlib import Path
from typing import Any

import pytest
from tests.service.engine.setting import D, K, shop

from headstart.live.settings import Settings, names
from headstart.service.messages import (
    BanditConfiguration,
    DecisionRequest,
    ObservationRequest,
    ServiceError,
)


def test_settings_have_the_names_and_defaults_of_live_use() -> None:
    defaults = Settings()
    configuration = BanditConfiguration(dimension=1)
    for name in names(stored=True):
        assert getattr(configuration, name) == getattr(defaults, name), name


def test_an_own_prior_takes_the_side_information_that_is_named(tmp_path: Path) -> None:
    given: dict[str, Any] = {"dimension": D, "about_names": ["age", "member"]}
    right: list[dict[str, Any]] = [
        {"class": "Hierarchical"},
        {"class": "Hierarchical", "n_about": 2},
    ]
    wrong: list[dict[str, Any]] = [{"class": "Pooled"}, {"class": "Hierarchical", "n_about": 1}]
    with shop(str(tmp_path / "store.sqlite")) as service:
        for i, spec in enumerate(right):
            service.put_bandit(f"own{i}", BanditConfiguration(prior=spec, **given))
        request = DecisionRequest(task="ann", about=[0.5, 1.0], arms={"a": [1.0] * D})
        (answer,) = service.decide("own0", [request]).result(120)
        assert not isinstance(answer, ServiceError)
        for spec in wrong:
            with pytest.raises(ServiceError, match=r"about_names must be the . names"):
                service.put_bandit("other", BanditConfiguration(prior=spec, **given))


def test_names_must_not_break_lines(tmp_path: Path) -> None:
    category = {"type": "category", "name": "brand", "levels": ["a", "b\r"]}
    wrong: list[dict[str, Any]] = [
        {"feature_names": ["a", "b\n"]},
        {"dimension": 1, "about_names": ["a\x7f"]},
        {"features": {"item": [{"type": "flag", "name": "is\tnew"}]}},
        {"features": {"item": [category]}},
    ]
    with shop(str(tmp_path / "store.sqlite")) as service:
        for given, named in zip(wrong, ["b\\n", "a\\x7f", "is\\tnew", "b\\r"], strict=True):
            with pytest.raises(ServiceError) as error:
                service.put_bandit("other", BanditConfiguration(**given))
            assert named in str(error.value)
        request = DecisionRequest(task="ann", arms={"a": [1.0] * D, "b\x1f": [0.0] * D})
        observation = ObservationRequest(task="ann", value=0.0, features=[1.0] * D, arm="c\x1f")
        (decision,) = service.decide("shop", [request]).result(120)
        (observed,) = service.observe("shop", [observation]).result(120)
        for answer, named in ((decision, "b\\x1f"), (observed, "c\\x1f")):
            assert isinstance(answer, ServiceError)
            assert named in str(answer)
        with pytest.raises(ServiceError, match="at least one item"):
            service.put_items("shop", [])
        assert service.bandit("shop").items == K
        assert service.bandit("shop").tasks == 0
