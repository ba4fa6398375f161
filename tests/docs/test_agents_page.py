"""docs/agents.md: its code runs, its agents keep the laws, and it prints what the page shows."""

from tests.contracts.agents import LAWS
from tests.docs import blocks

import headstart as hs


def test_the_page_prints_what_it_shows() -> None:
    outcomes = blocks.run((blocks.DOCS / "agents.md").read_text(encoding="utf-8"))
    assert len(outcomes) == 4
    for cell, printed in outcomes:
        # Another machine's rounding may turn a near-tie, and so move a mean over 100 runs a little.
        assert blocks.agree(cell.shown, printed, relative=0.05, absolute=0.11), (
            f"the page shows\n{cell.shown}\nbut the code printed\n{printed}"
        )
    # The last cell names every law once it held for both agents of the page.
    assert outcomes[-1][1].split() == [law.__name__ for law in LAWS]


def test_the_page_names_every_named_learner() -> None:
    text = (blocks.DOCS / "agents.md").read_text(encoding="utf-8")
    for name in hs.learners.__all__:
        if name.islower():
            assert f"`{name}(" in text, name
