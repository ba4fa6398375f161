"""What one process is told of a task counts in every other."""

import numpy as np

import headstart as hs
from headstart.service.engine.service import Service
from headstart.service.messages import (
    BanditConfiguration,
    DecisionAnswer,
    DecisionRequest,
    Item,
    RewardRequest,
)

FEATURES = hs.Features(
    item=[hs.Number("price")],
    context=[hs.Flag("rain")],
    about=[hs.Category("country", levels=["de", "fr"]), hs.Flag("adult")],
    cross=[("country", "price")],
)
ITEMS = {"tea": {"price": 3.0}, "rum": {"price": 21.0}}


def shown(service: Service, **told: object) -> list[float]:
    """The features of the arm that a task is shown, which is then paid."""
    request = DecisionRequest(task="ann", arms=["tea"], **told)  # type: ignore[arg-type]
    (answer,) = service.decide("shop", [request]).result(60)
    assert isinstance(answer, DecisionAnswer)
    service.reward("shop", [RewardRequest(decision=answer.id, value=1.0)]).result(60)
    return [part.value for part in service.decision("shop", answer.id).contributions]


def test_what_one_process_is_told_counts_in_the_other(postgresql: str) -> None:
    with Service.open(postgresql) as one, Service.open(postgresql) as other:
        one.put_bandit("shop", BanditConfiguration(features=FEATURES.plain()))
        one.put_items("shop", [Item(id=name, attributes={**raw}) for name, raw in ITEMS.items()])
        plain = other.bandit("shop").configuration.features
        assert plain is not None
        schema = hs.Features.from_plain(plain)

        def expected(known: dict[str, object] | None) -> list[float]:
            return [*map(float, np.asarray(schema.encode(ITEMS["tea"], {"rain": True}, known)))]

        context = {"rain": True}
        french = {"country": "fr"}
        assert shown(one, context=context) == expected(None)
        assert shown(other, context=context, about=french) == expected({**french})
        assert shown(one, context=context, about={"country": "de"}) == expected({**french})
        assert shown(one, context=context) == expected({**french})
        other.refresh("shop")
        assert one.task("shop", "ann").about == schema.encode_about(french).tolist()
        assert one.task("shop", "ann").n_rewards == 4
        one.erase("shop", "ann")
