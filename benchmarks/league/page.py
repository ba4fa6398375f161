"""The league's pages: the whole table for researchers, and a short one for users."""

from collections.abc import Iterator, Sequence

from benchmarks.league import learners as who
from benchmarks.league.playing import N_TESTS, Version
from benchmarks.league.results import RIVALS, Result
from benchmarks.league.targets import targets

# What users are shown: the title of a row, and how they would say it.
FOR_USERS = {
    "linear: variance 1, N = 10": "tasks that are alike, after 10 of them",
    "linear: variance 40, N = 10": "tasks that have little in common, after 10",
    "shared: rank 2, variance 20, N = 30": "tasks that differ along two of 20 directions, after 30",
    "fixed arms: d = 20, K = 20, T = 50, N = 5": "the same 20 arms in every round, after 5 tasks",
    "winner: variance 1, N = 10": "rewards of 0 and 1, after 10 tasks",
    "real: MovieLens, unit arms, N = 10": "films (MovieLens), 5 rounds per user, after 10 users",
}
_BEGIN, _END = "<!-- written by `make league` -->\n", "<!-- end -->"


def whole_page(results: Sequence[Result], version: Version, coverage: str) -> str:
    """All rows, with all columns."""
    return "\n".join(
        [
            "# The league",
            "",
            "Mean regret over a test task; lower is better. Made by `make league` at commit "
            f"{version.commit}, seed {version.seed}, with as many paired replications as the first "
            f"table says and {N_TESTS} test tasks in each. Seeds below 1,000 were for development, "
            "and earlier versions were shown on 20,000, 30,000 and 40,000; nothing was tuned on "
            "this one. There is [a short version](../docs/explanation/league.md) for users, and "
            "[clicks in a shop](shops.md) are compared with what a shop would use instead.",
            "",
            "ITL, AVG, RR and pooled (one model for all tasks) have 9 to 30 settings each:",
            "",
            *GRIDS,
            "",
            "The setting that is shown is *cross-fitted*: chosen on one half of the replications "
            "and scored on the other half, and the other way round. The best rival is chosen in "
            "the same way from all 84. So a setting that is best by chance on some runs is not "
            "scored on the same runs. Ours has no settings. Ratios are of mean regrets, with 95 % "
            "intervals from a paired bootstrap over replications, in which every sample chooses "
            "the settings again.",
            "",
            "*Told all* is Bayes UCB with the true mean task and covariance (and the meaning of "
            "side information), so ours / told all is the price of learning them. *Told variances* "
            "knows the variances and learns the mean task, like Meta-TS and AdaTS. The *live rule* "
            "is the default of `MetaBandit` with the same prior, and *best z* is the best constant "
            f"z of {who.ZS}, cross-fitted.",
            "",
            "## Ratios",
            "",
            *ratios(results),
            "",
            "## Targets",
            "",
            "Targets that were set before this version, without those that the learner that knows "
            "the variances misses as well.",
            "",
            *targets(results),
            "",
            "## Regret",
            "",
            *regrets(results),
            "",
            "## Coverage",
            "",
            coverage,
            "",
        ]
    )


_META = f"{who.META_LAMBDAS}, with an estimator's own λ in {who.ESTIMATION_LAMBDAS}"
GRIDS = [
    "| rival | λ, times the mean ‖x‖² | radius, times |",
    "|---|---|---|",
    f"| ITL | {who.ITL_LAMBDAS} | {who.RADII} |",
    f"| AVG, RR | {_META} | {who.RADII} |",
    f"| pooled | {who.POOLED_LAMBDAS} | {who.RADII} |",
]


def ratios(results: Sequence[Result]) -> Iterator[str]:
    """Ours against the best rival, ITL, and those that are told the truth."""
    against = (RIVALS, who.ITL, who.INFORMED, who.TOLD)
    heads = " | ".join(f"ours / {column}" for column in against)
    yield f"| | environment | N | replications | ours | {heads} | best rival by either half |"
    yield "|---" * (len(against) + 6) + "|"
    for result in results:
        row = result.row
        cells = [row.group, row.name, str(result.size), str(result.replications)]
        cells.append(f"**{_number(result.mean(who.OURS))}**")
        cells += [_ratio(result, column) for column in against]
        cells.append("; ".join(dict.fromkeys(_words(name) for name in result.chosen(RIVALS))))
        yield "| " + " | ".join(cells) + " |"


def regrets(results: Sequence[Result]) -> Iterator[str]:
    """The mean regret of every column."""
    yield "| | environment | N | " + " | ".join(who.COLUMNS) + " |"
    yield "|---" * (len(who.COLUMNS) + 3) + "|"
    for result in results:
        played = result.columns
        cells = [_number(result.mean(c)) if c in played else "–" for c in who.COLUMNS]
        start = [result.row.group, result.row.name, str(result.size)]
        yield "| " + " | ".join([*start, *cells]) + " |"


def users_page(page: str, results: Sequence[Result], version: Version) -> str:
    """The page for users, with the table between its two marks written again."""
    by_title = {result.title: result for result in results}
    lines = [
        f"At commit {version.commit}, seed {version.seed}:",
        "",
        "| tasks | each task alone | best rival | headstart | told everything "
        "| headstart / best rival, 95 % |",
        "|---|---|---|---|---|---|",
    ]
    for title, words in FOR_USERS.items():
        result = by_title[title]
        columns = (who.ITL, RIVALS, who.OURS, who.TOLD)
        cells = [_number(result.mean(c)) if result.settings(c) else "–" for c in columns]
        lines.append(f"| {words} | {' | '.join(cells)} | {_ratio(result, RIVALS)} |")
    start, end = page.index(_BEGIN) + len(_BEGIN), page.index(_END)
    return page[:start] + "\n" + "\n".join(lines) + "\n\n" + page[end:]


def _ratio(result: Result, against: str) -> str:
    if not result.settings(against):
        return "–"
    return "{:.2f} [{:.2f}, {:.2f}]".format(*result.ratio(who.OURS, against))


def _words(name: str) -> str:
    """A learner with its setting, in words."""
    return name.replace("|", ", ")


def _number(mean: float) -> str:
    return f"{mean:.2f}" if mean >= 1 else f"{mean:.3f}"
