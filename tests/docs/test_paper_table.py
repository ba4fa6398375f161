"""The page on the paper names every numbered statement, functions and tests that exist."""

import ast
import re
from importlib import import_module
from itertools import pairwise

import pytest
from tests.docs.blocks import DOCS

ROOT = DOCS.parent

NUMBERED = [
    *(f"Eq. {n}" for n in range(1, 10)),
    *(f"Lemma {n}" for n in range(1, 6)),
    *(f"Theorem {n}" for n in range(1, 4)),
    *(f"Corollary {n}" for n in (1, 2)),
    *(f"Assumption {n}" for n in (1, 2)),
    *(f"Algorithm {n}" for n in (1, 2)),
]


def rows() -> list[list[str]]:
    lines = (DOCS / "explanation" / "paper.md").read_text(encoding="utf-8").splitlines()
    table = [line for line in lines if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]


ROWS = rows()


@pytest.mark.parametrize("number", NUMBERED)
def test_every_numbered_statement_has_a_row(number: str) -> None:
    pattern = re.compile(rf"^{re.escape(number)}(?!\d)")
    assert any(pattern.match(row[0]) for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_rows_name_what_exists(row: list[str]) -> None:
    assert len(row) == 4, row
    statement, function, test, deviation = row
    assert statement
    assert deviation
    assert _found(function.strip("`")), function
    path, _, name = test.strip("`").partition("::")
    assert name in _tests(ROOT / path), test


OPEN = (DOCS / "explanation" / "open-questions.md").read_text(encoding="utf-8")


def test_every_open_question_is_named() -> None:
    questions = re.findall(r"^## (.+)$", OPEN, re.MULTILINE)
    assert questions == [
        "An unbiased estimator with low variance",
        "Learning λ",
        "Feature sharing",
        "Non-stochastic bandits",
    ]


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(headstart\.[\w.]+)`", OPEN))))
def test_open_questions_name_functions_that_exist(name: str) -> None:
    assert _found(name)


@pytest.mark.parametrize("test", sorted(set(re.findall(r"`(tests/[\w/.]+::\w+)`", OPEN))))
def test_open_questions_name_tests_that_exist(test: str) -> None:
    path, _, name = test.partition("::")
    assert name in _tests(ROOT / path), test


def test_numbers_are_those_of_the_papers_own_counting() -> None:
    # The source numbers its equations by order; a row out of order would point at another one.
    order = [int(row[0].split()[1].strip(",")) for row in ROWS if row[0].startswith("Eq.")]
    assert order == list(range(1, 10))
    assert all(a < b for a, b in pairwise(order))


def _found(name: str) -> bool:
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def _tests(path: object) -> set[str]:
    with open(str(path), encoding="utf-8") as source:
        tree = ast.parse(source.read())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_a_name_that_does_not_exist_is_noticed() -> None:
    assert not _found("headstart.theory.no_such_bound")
    assert not _found("headstart.no_such_module.function")
    assert _found("headstart.policies.OFUL.scores")
