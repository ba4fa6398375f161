"""Requests as hosted services have them: what their documentation shows is read without editing."""

from typing import Any

import headstart as hs

# "Features for actions and context" in the documentation of Azure AI Personalizer.
RANK: dict[str, Any] = {
    "contextFeatures": [
        {"timeOfDay": "noon"},
        {"day": {"weekday": "Monday", "isHoliday": False}},
        {"user": {"profileType": "AnonymousUser", "latLong": "47.6,-122.1"}},
        {"environment": {"dayOfMonth": "28", "monthOfYear": "8", "weather": "Sunny"}},
        {"device": {"mobile": True, "Windows": True}},
        {"userPreferences": {"likesSpicy": 3}},
    ],
    "actions": [
        {
            "id": "pasta",
            "features": [
                {"taste": "salty", "spiceLevel": "medium"},
                {"nutritionLevel": 5, "cuisine": "italian"},
                {"nutritionalValue": {"calories": 450, "isVegetarian": False}},
            ],
        },
        {
            "id": "ice cream",
            "features": [
                {"taste": "sweet", "spiceLevel": "none"},
                {"nutritionalLevel": 2},
                {"nutritionalValue": {"calories": 310, "isVegetarian": True}},
            ],
        },
    ],
    "excludedActions": ["juice"],
    "eventId": "75269AD0-BFEE-4598-8196-C57383D38E10",
}

FEATURES = hs.Features(
    item=[
        hs.Category("taste", levels=["salty", "sweet"]),
        hs.Category("spiceLevel"),
        hs.Number("nutritionLevel"),
        hs.Number("nutritionalLevel"),
        hs.Category("cuisine"),
        hs.Number("nutritionalValue.calories", mean=400, scale=100),
        hs.Flag("nutritionalValue.isVegetarian"),
    ],
    context=[
        hs.Category("timeOfDay"),
        hs.Category("day.weekday"),
        hs.Flag("day.isHoliday"),
        hs.Category("user.profileType"),
        hs.Category("user.latLong"),
        hs.Category("environment.dayOfMonth"),
        hs.Category("environment.monthOfYear"),
        hs.Category("environment.weather"),
        hs.Flag("device.mobile"),
        hs.Flag("device.Windows"),
        hs.Number("userPreferences.likesSpicy"),
    ],
    cross=[("userPreferences.likesSpicy", "taste")],
)


def test_a_personalizer_request_is_decided_as_it_is() -> None:
    items = {action["id"]: action["features"] for action in RANK["actions"]}
    bandit = hs.MetaBandit(
        features=FEATURES, prior=hs.priors.Hierarchical(covariance="isotropic"), seed=0
    )
    decision = bandit.decide("ann", items, context=RANK["contextFeatures"])
    assert decision.arm in items
    encoded = FEATURES.encode_items(items)
    context = FEATURES.encode_context(RANK["contextFeatures"])
    pasta, ice_cream = FEATURES.arms(encoded.matrix, context, FEATURES.encode_about(None))
    column = dict(zip(FEATURES.columns, range(FEATURES.dimension), strict=True))
    assert pasta[column["nutritionalValue.calories"]] == 0.5
    assert pasta[column["userPreferences.likesSpicy × taste=salty"]] == 3.0
    assert ice_cream[column["nutritionalValue.isVegetarian"]] == 1.0
    assert ice_cream[column["device.mobile"]] == 1.0
