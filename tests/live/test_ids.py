"""Ids of many decisions at once, against one at a time; and what became of paid batches."""

import numpy as np
import pytest
from tests.live.state import pending_ids, settled_values

import headstart as hs
from headstart.live import _pending
from headstart.live._pending import CODE_DIGITS, ORIGIN_DIGITS, Ids, Settled, read_ids

ORIGIN = "0123456789abcdef"
CODES = np.array([0, 1, 15, 16, 255, 1 << 26, (1 << 53) - 1, 0x9A0B1C2D3E4F], dtype=np.int64)


def test_ids_are_the_origin_and_the_code_in_hexadecimal_digits() -> None:
    texts = Ids(ORIGIN, CODES).texts()
    assert texts.tolist() == [f"{ORIGIN}{code:0{CODE_DIGITS}x}" for code in CODES.tolist()]
    assert Ids(ORIGIN, CODES[:0]).texts().shape == (0,)


def test_ids_of_a_batch_are_those_of_its_decisions() -> None:
    bandit = hs.MetaBandit(dimension=2, seed=0)
    ids = bandit.decide_many([f"user-{i}" for i in range(20)], np.eye(2)).ids.tolist()
    assert ids == pending_ids(bandit)
    assert [bandit.reward(each, 1.0) for each in ids] == 20 * ["paid"]


def test_ids_are_read_as_they_are_written() -> None:
    texts = Ids(ORIGIN, CODES).texts()
    fixed = texts.copy()
    fixed.flags.writeable = False
    every = np.repeat(texts, 2)[::2]
    for given in (texts, texts.tolist(), list(texts), fixed, every):
        found = read_ids(ORIGIN, given)
        assert found is not None
        np.testing.assert_array_equal(found.codes, CODES)


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "no id",
        f"{ORIGIN}{1:x}",
        "f" * ORIGIN_DIGITS + CODE_DIGITS * "0",
        ORIGIN + CODE_DIGITS * "A",
        ORIGIN + (CODE_DIGITS - 1) * "0" + "g",
        ORIGIN + (CODE_DIGITS - 1) * "0" + "\0",
        ORIGIN + (CODE_DIGITS - 3) * "0" + "1_1",
        ORIGIN + "+" + (CODE_DIGITS - 1) * "0",
        ORIGIN + CODE_DIGITS * "0" + "0",
        ORIGIN + (CODE_DIGITS - 1) * "0" + "٣",
    ],
)
def test_other_texts_are_left_to_the_careful_reader(wrong: str) -> None:
    good = Ids(ORIGIN, CODES).texts().tolist()
    assert read_ids(ORIGIN, [*good, wrong]) is None
    assert read_ids(ORIGIN, np.array([*good, wrong])) is None
    assert read_ids(ORIGIN, []) is None


def _played(seed: int = 0) -> tuple[hs.MetaBandit, list[str]]:
    """A bandit, and ids that are pending, paid, of a finished task, and of no decision."""
    bandit = hs.MetaBandit(dimension=3, seed=seed, prior=hs.priors.Fixed.zero())
    rng = np.random.default_rng(7)
    ids: list[str] = []
    for _ in range(3):
        ids += bandit.decide_many(range(8), rng.standard_normal((8, 4, 3))).ids.tolist()
    for i in (2, 9):
        bandit.reward(ids[i], 1.0)
    bandit.finish(5)
    unknown = ids[0][:ORIGIN_DIGITS] + CODE_DIGITS * "f"
    return bandit, [*ids, ids[3], ids[2], unknown, "no id", ids[3]]


@pytest.mark.parametrize("wrong", ["_1", "+1", " 1", "1 ", "-1"])
def test_an_id_is_exactly_the_text_that_was_given(wrong: str) -> None:
    bandit = hs.MetaBandit(dimension=2, seed=0)
    decision = bandit.decide("user", np.eye(2)).id
    start = decision[: -len(wrong)]
    assert decision.endswith("01")
    other = (start[:-1] + "0_1") if wrong == "_1" else start + wrong
    assert len(other) == len(decision)
    assert bandit.reward(other, 1.0) == "unknown"
    assert bandit.reward(decision, 1.0) == "paid"


@pytest.mark.parametrize("as_array", [True, False])
def test_a_batch_of_all_kinds_is_paid_as_if_one_by_one(as_array: bool) -> None:
    (together, ids), (apart, same) = _played(), _played()
    values = np.where(np.arange(len(ids)) % 7 == 0, 2.0, 1.0)
    weights = np.where(np.arange(len(ids)) == 4, 1e40, 1.0)  # cannot be learned
    given = np.array(ids) if as_array else ids
    for native in (slice(None), [i for i, each in enumerate(ids) if each != "no id"]):
        some = np.arange(len(ids))[native].tolist()
        chosen = given[native] if isinstance(given, np.ndarray) else [given[i] for i in some]
        found = together.reward_many(chosen, values[some], weights[some])
        one_by_one = [apart.reward(same[i], float(values[i]), float(weights[i])) for i in some]
        assert found == one_by_one
    assert {"paid", "duplicate", "conflict", "unknown", "out_of_range"} == set(found) | {"paid"}
    assert together.tasks() == apart.tasks()
    for name in together.tasks():
        mine, theirs = together.task(name).estimate, apart.task(name).estimate
        np.testing.assert_array_equal(mine.statistics.gram, theirs.statistics.gram)
        np.testing.assert_array_equal(mine.statistics.moment, theirs.statistics.moment)
    remembered, wanted = settled_values(together), settled_values(apart)
    assert [each[ORIGIN_DIGITS:] for each in remembered] == [
        each[ORIGIN_DIGITS:] for each in wanted
    ]
    assert list(remembered.values()) == list(wanted.values())


def test_foreign_ids_are_paid_in_batches_too() -> None:
    bandit, ids = _played()
    bandit._tasks.pending.renew()  # as after a fork
    fresh = bandit.decide_many(range(8), np.eye(3)).ids.tolist()
    outcomes = bandit.reward_many([*ids[:2], *fresh, ids[0]], np.ones(11))
    assert outcomes == 10 * ["paid"] + ["duplicate"]
    assert not {*ids[:2], *fresh} & {*pending_ids(bandit)}
    assert list(settled_values(bandit))[-10:] == [*ids[:2], *fresh]


def test_batches_are_remembered_as_single_rewards_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_pending, "CAPACITY", 50)
    rng = np.random.default_rng(0)
    fast, slow, code = Settled(), Settled(), 0
    for _ in range(300):
        codes = np.arange(code, code + int(rng.integers(1, 30)), dtype=np.int64)
        code += len(codes)
        values, ids = rng.standard_normal(len(codes)), Ids(ORIGIN, codes)
        if rng.random() < 0.8:
            fast.note_batch(ids, values)
        else:
            fast.note_all(zip(ids.texts().tolist(), values.tolist(), strict=True))
        for each, value in zip(ids.texts().tolist(), values.tolist(), strict=True):
            slow.note(each, value)
        if rng.random() < 0.1:
            fast.note(f"single-{code}", None)
            slow.note(f"single-{code}", None)
        if rng.random() < 0.2:
            assert fast.values == slow.values
        some = f"{ORIGIN}{int(rng.integers(max(0, code - 70), code)):0{CODE_DIGITS}x}"
        if rng.random() < 0.3:
            settings = hs.live.Settings()
            assert fast.outcome(some, 0.0, settings) == slow.outcome(some, 0.0, settings)
    assert fast.values == slow.values
    assert len(fast.values) == 50
