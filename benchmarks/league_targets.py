"""The league's targets, and whether they were reached."""

from collections.abc import Iterator, Sequence

from benchmarks import league_learners as who
from benchmarks.league_results import Result, title


def targets(results: Sequence[Result]) -> Iterator[str]:
    """One line per target."""
    linear = [r for r in results if r.row.group == "linear"]
    others = [r for r in results if r.row.group in {"winner", "real"}]
    yield _against("Ours / best tuned at most 1.05 on linear rows", linear, None, 1.05)
    below = sum(r.ratio(who.OURS, r.best)[0] < 1.0 for r in linear)
    state = "holds" if 3 * below >= 2 * len(linear) else "missed"
    yield f"- Below 1 on two thirds of the linear rows: {state}, {below} of {len(linear)}."
    yield _against("At most 1.15 on winner and real rows", others, None, 1.15)
    usual = [r for r in results if r.row.group in {"linear", "adversarial", "winner", "real"}]
    yield _against("At most 1.05 of ITL everywhere", usual, who.ITL, 1.05)
    gaussian = [r for r in linear if r.row.name.startswith("variance")]
    many = [r for r in gaussian if r.size >= 10]
    yield _against("Within 1.1 of Bayes UCB at N ≥ 10, Gaussian", many, who.INFORMED, 1.1)
    yield _against("At most 1.02 of isotropic on isotropic laws", gaussian, who.ISOTROPIC, 1.02)
    for size, limit in ((10, 2.0), (50, 1.35)):
        among = [r for r in linear if r.row.name == "variance 1" and r.size == size]
        yield _against(
            f"Within {limit:g} of the Bayes oracle at N = {size}, variance 1",
            among,
            who.ORACLE,
            limit,
        )
    yield from _shared(linear)
    yield from _side(results)


def _shared(linear: Sequence[Result]) -> Iterator[str]:
    """Those on tasks that differ along few directions."""
    for name, limit in (("rank 2, variance 20", 0.62), ("two kinds, variance 20", 0.47)):
        at_ten = [r for r in linear if r.row.name == name and r.size == 10]
        yield _against(
            f"{name}: at most {limit} of isotropic at N = 10", at_ten, who.ISOTROPIC, limit
        )
        yield _against(f"{name}: better than full Σ₀ at N = 10", at_ten, who.FULL, 1.0)
    many = [r for r in linear if r.row.name.startswith("rank") and r.size == 30]
    yield _against("Rank 2: at most 1.35 of the oracle told Σ₀ at N = 30", many, who.TOLD, 1.35)


def _side(results: Sequence[Result]) -> Iterator[str]:
    """Those on side information."""
    rows = [r for r in results if r.row.group == "side" and r.size == 30]
    for share, limit in (("90%", 0.45), ("0%", 1.03)):
        among = [r for r in rows if r.row.name.endswith(f"explains {share}")]
        for against, name in ((who.OURS, "the prior without"), (who.ISOTROPIC, "isotropic")):
            text = f"Side information that explains {share}: at most {limit} of {name} at N = 30"
            yield _against(text, among, against, limit, column=who.SIDE)


def _against(
    text: str,
    among: Sequence[Result],
    against: str | None,
    limit: float,
    column: str = who.OURS,
) -> str:
    """Whether a column is within a limit of another one, or of the best tuned one."""
    found = [(r, r.ratio(column, against or r.best)[0]) for r in among]
    missed = [f"{title(r)} {ratio:.3f}" for r, ratio in found if ratio > limit]
    worst = f" ({max(ratio for _, ratio in found):.2f})" if found else " (not played)"
    state = "holds" + worst if not missed else "missed: " + "; ".join(missed)
    return f"- {text}: {state}, {len(found) - len(missed)} of {len(found)}."
