"""Claims that can be judged at each learner's best λ, and those that cannot."""

from headstart.paper.claims import LASTFM, MOVIELENS, SYNTHETIC, at_best
from headstart.paper.rules import Lower, Side


def test_claims_about_the_grid_have_no_best() -> None:
    rules = [claim.rule for claim in (*SYNTHETIC, *LASTFM, *MOVIELENS)]
    moved = [at_best(rule) for rule in rules]
    about_grid = [rule for rule, best in zip(rules, moved, strict=True) if best is None]
    assert len(about_grid) == 4
    first = at_best(LASTFM[0].rule)
    assert first == Lower(Side("AVG-OFUL", None), Side("ITL", None))
