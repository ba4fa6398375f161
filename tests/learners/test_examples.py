"""The examples in docstrings are right, and every named learner has one and a reference."""

import doctest
import inspect
import re

import pytest

from headstart import learners
from headstart.learners import bayesian, exponential_weights, oful

NAMED = [getattr(learners, name) for name in learners.__all__ if name.islower()]


@pytest.mark.parametrize("module", [bayesian, exponential_weights, oful])
def test_examples_run(module: object) -> None:
    failed, tried = doctest.testmod(module)  # type: ignore[arg-type]
    assert tried > 0
    assert failed == 0


@pytest.mark.parametrize("named", NAMED, ids=lambda named: named.__name__)
def test_every_named_learner_has_an_example_and_a_reference(named: object) -> None:
    text = inspect.getdoc(named) or ""
    assert ">>>" in text
    if named not in {learners.headstart, learners.pooled_oful}:
        assert re.search(r"\((?:.*, )?20\d\d\b|\b20\d\d\)", text), text
