"""Claims: sentences of the paper, what each says, and which can be judged at the best λ."""

import re
from pathlib import Path

import pytest

from headstart.paper.claims import (
    LASTFM,
    MOVIELENS,
    SENTENCES,
    SYNTHETIC,
    UNBIASED,
    at_best,
    learners_of,
)
from headstart.paper.rules import Lower, Side

EVERY = (*SYNTHETIC, *LASTFM, *MOVIELENS)


def test_claims_about_the_grid_have_no_best() -> None:
    rules = [claim.rule for claim in EVERY]
    moved = [at_best(rule) for rule in rules]
    about_grid = [rule for rule, best in zip(rules, moved, strict=True) if best is None]
    assert len(about_grid) == 4
    first = at_best(LASTFM[0].rule)
    assert first == Lower(Side("AVG-OFUL", None), Side("ITL", None))


def test_a_claim_is_said_by_one_sentence_or_implied_by_a_figure() -> None:
    for claim in EVERY:
        assert (claim.sentence is None) == bool(claim.implied)
    said = {claim.sentence for claim in EVERY} - {None}
    assert said == set(SENTENCES)
    # One sentence of Section 7 about three comparisons; it is one sentence.
    assert sum(claim.sentence == UNBIASED for claim in EVERY) == 3
    assert sum(claim.sentence is None for claim in EVERY) == 10


def test_quotes_are_the_papers_own_words() -> None:
    source = Path(__file__).parents[3] / "shared" / "paper.tex"
    if not source.is_file():
        pytest.skip(f"the paper's source is not at {source}")
    text = " ".join(source.read_text(encoding="utf-8").split())
    text = re.sub(r"\$?\\ref\{Cor:RightHTransfer\}\$?", "2", text)
    text = re.sub(r"\\ref\{Ass:LowVariance\}", "1", text).replace(r"$\lambda$", "λ")
    text = text.replace("Corollary $2$", "Corollary 2")
    for sentence in SENTENCES:
        assert sentence.quote in text, sentence.quote


def test_the_oracle_counts_where_a_claim_is_about_it() -> None:
    assert learners_of(LASTFM[0].rule) == ["AVG-OFUL", "RR-OFUL", "ITL"]
    assert learners_of(LASTFM[2].rule) == ["Oracle", "AVG-OFUL", "RR-OFUL", "ITL"]
