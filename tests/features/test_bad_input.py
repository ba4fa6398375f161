"""Bad schemas and bad data: one sentence that names the value, and nothing has changed."""

import math
from typing import Any

import numpy as np
import pytest

import headstart as hs

FEATURES = hs.Features(
    item=[
        hs.Number("price"),
        hs.Category("brand"),
        hs.Tags("tags"),
        hs.Vector("embedding", 2),
        hs.Flag("new"),
        hs.Category("maker.country", buckets=4),
    ],
    context=[hs.Date("at")],
    about=[hs.Number("age")],
)

# The attribute that is wrong, and its value.
WRONG: list[tuple[str, object]] = [
    ("price", "cheap"),
    ("price", "12"),
    ("price", True),
    ("price", np.bool_(False)),
    ("price", math.inf),
    ("price", 10**400),
    ("price", -1e51),
    ("price", [1.0]),
    ("price", 1j),
    ("brand", "x" * 1_000_000),
    ("brand", "\ud800"),
    ("brand", ["acme"]),
    ("brand", b"acme"),
    ("brand", math.inf),
    ("brand", 10**5000),
    ("tags", 3),
    ("tags", ["x" * 1001]),
    ("tags", [str(i) for i in range(101)]),
    ("tags", [["a"]]),
    ("tags", ["\udfff"]),
    ("embedding", [1.0]),
    ("embedding", [1.0, 2.0, 3.0]),
    ("embedding", [1.0, math.nan]),
    ("embedding", [1.0, "2"]),
    ("embedding", "1, 2"),
    ("new", "yes"),
    ("new", 2),
    ("new", 0.5),
]
WRONG_TIMES: list[object] = ["yesterday", "2024-13-01", True, 1e20, [2024], "2024"]


def _sentence(error: pytest.ExceptionInfo[ValueError], name: str) -> None:
    text = str(error.value)
    assert name in text
    assert "\n" not in text
    assert len(text) < 300
    text.encode()  # can be sent and printed


@pytest.mark.parametrize(("name", "value"), WRONG, ids=range(len(WRONG)))
def test_a_value_of_a_wrong_kind_is_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match="must") as error:
        FEATURES.encode({name: value})
    _sentence(error, name)
    with pytest.raises(ValueError, match="must") as error:
        FEATURES.encode_items([{}, {name: value}])
    _sentence(error, name)
    with pytest.raises(ValueError, match="must"):
        FEATURES.encode_log({name: [None, value]})


@pytest.mark.parametrize("value", WRONG_TIMES)
def test_what_is_no_time_is_named(value: object) -> None:
    with pytest.raises(ValueError, match="must") as error:
        FEATURES.encode_context({"at": value})
    _sentence(error, "at")


@pytest.mark.parametrize(
    "given",
    [{"prise": 3}, {"price": 3, "at": "2024-01-01"}, {"maker": {"country": "NL", "city": "Delft"}},
     {3: 4}, {"age": 30}],
)  # fmt: skip
def test_an_attribute_that_the_schema_has_not_is_an_error(given: Any) -> None:
    with pytest.raises(ValueError, match="must have"):
        FEATURES.encode(given)
    with pytest.raises(ValueError, match="must have"):
        FEATURES.encode_items({"a": given})


def test_objects_within_objects_are_flattened_up_to_a_depth() -> None:
    nested = FEATURES.encode({"maker": {"country": "NL"}})
    assert nested.tolist() == FEATURES.encode({"maker.country": "NL"}).tolist()
    deep: dict[str, Any] = {"price": 3}
    for _ in range(50):
        deep = {"a": deep}
    with pytest.raises(ValueError, match="must nest at most") as error:
        FEATURES.encode(deep)
    _sentence(error, "a.a.a")


def test_a_row_that_is_no_row_is_an_error() -> None:
    for given in ("price", 3, [3], [["price"]]):
        with pytest.raises(ValueError, match="must be attributes by name"):
            FEATURES.encode(given)  # type: ignore[arg-type]
    for items in ("price", 3, [3], {"a": 3}):
        with pytest.raises(ValueError, match="must be"):
            FEATURES.encode_items(items)


def test_any_number_of_levels_may_come() -> None:
    """A million levels share the columns there are; given ones have a limit."""
    features = hs.Features(item=[hs.Category("brand", buckets=8)])
    matrix = features.encode_items({"brand": [f"b{i}" for i in range(1_000_000)]}).matrix
    assert matrix.sum(1).tolist() == [1.0] * 1_000_000
    assert matrix.sum(0).min() > 100_000
    with pytest.raises(ValueError, match="10,000"):
        hs.Category("brand", levels=[str(i) for i in range(1_000_000)])


BAD_SCHEMAS: list[tuple[Any, str]] = [
    (hs.Features, "at least one attribute"),
    (lambda: hs.Features(item=[hs.Flag("a"), hs.Number("a")]), "'a' twice"),
    (lambda: hs.Features(item=hs.Flag("a")), "item must be a list"),  # type: ignore[arg-type]
    (lambda: hs.Features(item=["a"]), "item must be attributes"),  # type: ignore[list-item]
    (lambda: hs.Features(item=[hs.Flag("a")], cross=[("a", "b")]), "'b'"),
    (lambda: hs.Features(item=[hs.Flag("a")], cross=[("a", "a")]), "two attributes"),
    (lambda: hs.Features(item=[hs.Flag("a")], cross=["ab"]), "two attributes"),  # type: ignore[list-item]
    (lambda: hs.Features(about=[hs.Flag("a"), hs.Flag("b")], cross=[("a", "b")]), "two of tasks"),
    (lambda: hs.Features(item=[hs.Flag("constant")]), "'constant' twice"),
    (lambda: hs.Features(item=[hs.Vector("v", 10_000)]), "at most 10,000 columns"),
    (lambda: hs.Number(""), "named by text"),
    (lambda: hs.Number("a" * 201), "at most 200"),
    (lambda: hs.Number("\ud800"), "UTF-8"),
    (lambda: hs.Number("a", scale=2.0), "mean and scale"),
    (lambda: hs.Number("a", mean=math.nan, scale=1.0), "finite"),
    (lambda: hs.Number("a", mean=0.0, scale=0.0), "above 0"),
    (lambda: hs.Number("a", log=True, bins=[1]), "one of log and bins"),
    (lambda: hs.Number("a", bins=[2, 1]), "increasing"),
    (lambda: hs.Number("a", bins=[]), "increasing"),
    (lambda: hs.Number("a", bins="12"), "bins"),  # type: ignore[arg-type]
    (lambda: hs.Number("a", period=-24), "period"),
    (lambda: hs.Number("a", missing=1), "true or false"),  # type: ignore[arg-type]
    (lambda: hs.Category("a", levels=[]), "must be 1 to"),
    (lambda: hs.Category("a", levels="ab"), "a list of texts"),
    (lambda: hs.Category("a", levels=["x", "x"]), "'x' twice"),
    (lambda: hs.Category("a", buckets=10_001), "10,000"),
    (lambda: hs.Tags("a", buckets=0), "buckets"),
    (lambda: hs.Vector("a", 0), "at least 1"),
    (lambda: hs.Date("a", parts=["second"]), "one of"),  # type: ignore[list-item]
    (lambda: hs.Date("a", parts=[]), "some of"),
]


@pytest.mark.parametrize(("make", "match"), BAD_SCHEMAS)
def test_a_schema_that_cannot_be_is_refused(make: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        make()


@pytest.mark.parametrize(
    ("table", "match"),
    [
        ([], "must be a table"),
        ({"items": []}, "features.items"),
        ({"item": {"type": "flag", "name": "a"}}, "features.item must be a list"),
        ({"item": [{"type": "flag"}]}, r"features.item\[0\] must have a name"),
        ({"item": [{"name": "a"}]}, r"features.item\[0\].type"),
        ({"item": [{"type": "text", "name": "a"}]}, "'text'"),
        ({"item": [{"type": "flag", "name": "a", "levels": []}]}, "levels"),
        ({"item": ["a"]}, r"features.item\[0\]"),
        ({"item": [{"type": "number", "name": "a", "period": 0}]}, r"features.item\[0\]: period"),
    ],
)
def test_data_that_describe_no_schema_are_refused(table: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        hs.Features.from_plain(table)


def test_text_that_is_no_json_is_refused() -> None:
    for text in ("", "{", "[" * 100_000, b"\xff"):
        with pytest.raises(ValueError, match="must be JSON"):
            hs.Features.from_json(text)


def test_many_columns_are_warned_of() -> None:
    with pytest.warns(UserWarning, match="d = 601"):
        hs.Features(item=[hs.Vector("v", 600)])


def test_a_bandit_is_as_it_was_after_bad_input() -> None:
    bandit = hs.MetaBandit(features=FEATURES, seed=0)
    items = {"a": {"price": 1.0}, "b": {"price": 3.0}}
    bandit.reward(bandit.decide("ann", items).id, 1.0)
    before = bandit.task("ann"), bandit.features
    for wrong in ({"a": {"price": "cheap"}}, {"a": {"prise": 3}}, {"a": {"brand": "\ud800"}}):
        with pytest.raises(ValueError, match="must"):
            bandit.decide("ann", wrong)
        with pytest.raises(ValueError, match="must"):
            bandit.observe("ann", wrong["a"], 1.0)
    after = bandit.task("ann"), bandit.features
    assert after[1] == before[1]
    assert after[0].n_rewards == before[0].n_rewards
    assert after[0].estimate.parameter.tolist() == before[0].estimate.parameter.tolist()
