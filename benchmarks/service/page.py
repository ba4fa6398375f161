"""The page benchmarks/service.md, from the figures that were measured."""

from typing import Any

Figures = dict[str, Any]


def page(figures: Figures) -> str:
    """Markdown; a part that was not measured is left out."""
    sections = {
        "rates": _rates,
        "latency": _latency,
        "stall": _stall,
        "many_bandits": _many_bandits,
        "memory": _memory,
        "kills_sqlite": _failures,
        "restart": _restart,
        "sizes": _sizes,
        "null_worlds": _null_worlds,
    }
    written = [make(figures) for name, make in sections.items() if figures.get(name) is not None]
    head = (
        "# The service under load\n\n"
        "Written by `make bench-service`. Service, database and load generator share the machine: "
        f"{figures['machine']}. Every request is answered after its commit is on the disk. "
        f"Other programs that ran before each part, as the load average of the last minute: "
        f"{_by_part(figures['load'])}. Above 2, other work shared the cores: latencies and times "
        "of such a part say more about the machine than about the service. How fast a core was, as "
        "the milliseconds of a million additions in Python (about 35 where nobody else uses the "
        f"machine): {_by_part(figures['loop_ms'])}.\n"
    )
    return "\n".join([head, *written])


def _by_part(found: dict[str, float]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in found.items())


def _row(name: str, rate: Figures | None, bar: str = "") -> str:
    if rate is None:
        return f"| {name} | not measured | | | {bar} |"
    return (
        f"| {name} | {rate['rows_per_second']:,.0f} | {1e3 * rate['p50']:.1f} | "
        f"{1e3 * rate['p99']:.1f} | {bar} |"
    )


def _rates(figures: Figures) -> str:
    own, shared = figures["rates"], figures.get("postgresql") or {}
    lines = [
        "## Requests per second\n",
        "d = 20, a catalogue of K = 20, 10,000 tasks. wrk with 64 connections for single requests, "
        "8 for batches of 100; a pair is a decision, then its reward, each a request.\n",
        "| | rows per second | p50, ms | p99, ms | bar |",
        "|---|---:|---:|---:|---:|",
        _row("SQLite, decisions and rewards", own["pairs"], "3,000"),
        _row("SQLite, decisions", own["decisions"], "3,000"),
        _row("SQLite, decisions in batches of 100", own["batches"], "30,000"),
        _row("PostgreSQL, one process, decisions and rewards", shared.get("one")),
        _row("PostgreSQL, two processes, decisions and rewards", shared.get("two"), "1,000"),
        _row("PostgreSQL, two processes, batches of 100", shared.get("batches")),
    ]
    return "\n".join([*lines, *_peers(figures.get("peers")), ""])


def _peers(found: Figures | None) -> list[str]:
    lines = ["", "| for comparison: not durable | decisions per second |", "|---|---:|"]
    if found is None:
        lines.append("| Vowpal Wabbit daemon | vowpalwabbit is not installed here |")
    else:
        lines += [
            "| Vowpal Wabbit 9 daemon, squarecb, one model, the same d and K, in memory: one "
            f"decision at a time on each of 2 connections | {found['single']:,.0f} |",
            f"| the same, 200 decisions sent at once | {found['stream']:,.0f} |",
        ]
    lines.append(
        "| BanditDB, as published, 4 cores: acknowledged when queued, before it is written "
        "| about 10,000 |"
    )
    return lines


def _latency(figures: Figures) -> str:
    found = figures["latency"]
    shares = ("p50", "p90", "p99", "p99.9", "max")
    return "\n".join(
        [
            "## Latency at a fixed rate\n",
            "SQLite, 300 decisions and 300 rewards per second at random moments for a minute, "
            "d = 50, K = 200, 20,000 tasks. A latency counts from when the request was due. "
            f"{found['requests']:,} requests, {found['refused']} refused; the prior was refreshed "
            f"{found['refreshes']} times meanwhile. The bar is 20 ms at p99.\n",
            "| " + " | ".join(shares) + " |",
            "|" + "---:|" * len(shares),
            "| " + " | ".join(f"{1e3 * found[share]:.1f} ms" for share in shares) + " |",
            "",
        ]
    )


def _stall(figures: Figures) -> str:
    lines = [
        "## Large batches of another\n",
        "SQLite. One client sends the largest batches that are taken to one bandit, each as soon "
        "as the last is answered. Meanwhile 50 decisions and 50 rewards per second come for "
        "another bandit (d = 20, K = 20): their latencies, in ms. The bar is 100 ms at most; what "
        "the machine does without any batch is in the first row.\n",
        "| batches | sent | p50 | p99 | max |",
        "|---|---:|---:|---:|---:|",
    ]
    for row in figures["stall"]["batches"]:
        batch = row["batch"]
        name, sent = "none", ""
        if batch is not None:
            tasks = "one task" if batch["tasks"] == 1 else f"{batch['tasks']:,} tasks"
            name = f"{batch['rows']:,} rows of {tasks}, d = {batch['d']:,}"
            sent = f"{batch['sent']}"
        shares = " | ".join(f"{1e3 * row[share]:.0f}" for share in ("p50", "p99", "max"))
        lines.append(f"| {name} | {sent} | {shares} |")
    return "\n".join([*lines, ""])


def _many_bandits(figures: Figures) -> str:
    found = figures["many_bandits"]
    first = found["first_prior"]
    return "\n".join(
        [
            "## Many bandits\n",
            f"SQLite, {found['bandits']} bandits with 100 tasks each, d = 20, "
            f"{found['visits_per_second']:.0f} decisions with rewards per second over all of them. "
            "Seconds from the first decision until every bandit has a prior: "
            f"{'more than 600' if first is None else f'{first:.0f}'}. How long the longest waiting "
            f"task of a bandit waits for the prior to count it: {found['lag_p50']:.1f} s in the "
            f"median over bandits and time, {found['lag_max']:.1f} s at most.",
            "",
        ]
    )


def _memory(figures: Figures) -> str:
    found = figures["memory"]
    shown = ", ".join(f"{size / 1e6:,.0f} MB at {share}" for share, size in found["at"].items())
    return "\n".join(
        [
            "## Memory over time\n",
            f"SQLite, `--cache 64`, d = 20, {found['seconds'] / 60:.0f} minutes: "
            f"{found['decisions']:,} decisions of {found['tasks']:,} tasks, each with a reward in "
            f"two parts. Memory of the service and its children: {shown} of the time. In the "
            f"second half it grows by {found['bytes_per_hour'] / 1e6:,.0f} MB per hour.",
            "",
        ]
    )


def _failures(figures: Figures) -> str:
    rows: dict[str, Figures | None] = {}
    for name, text in (("sqlite", "SQLite"), ("postgresql", "of one of two processes, PostgreSQL")):
        found = figures.get(f"kills_{name}")
        rows[f"{(found or {}).get('n_kills', 100)} × kill -9, {text}"] = found
    rows["disk full for 10 s, SQLite"] = figures.get("disk")
    for name, text in (("away", "ended"), ("paused", "stands still")):
        rows[f"PostgreSQL {text} for 30 s"] = (figures.get("away") or {}).get(name)
    lines = [
        "## Failures under load\n",
        "16 clients decide, reward, observe and repeat what was acknowledged; a request without an "
        "answer is sent again. Rewards come in parts with a metric, and parts are corrected; a "
        "fifth of the decisions never has a reward. With kills there is a default reward and a "
        "deadline of 5 s, so that defaults wait, expire and are replaced. Afterwards every "
        "acknowledged answer is looked up in the store, and the statistics of every task and the "
        "sums of the gain, of guardrails and of items are compared with a replay of the "
        "decisions.\n",
        "| | acknowledged | lost | twice | wrong | miscounted | deviation | no answer | 503 |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [_failure(name, found) for name, found in rows.items()]
    twice = figures.get("twice")
    if twice:
        shown = ", ".join(f"{names}: {n:,}" for names, n in twice.items())
        lines.append(f"\nEvery reward sent to two processes at once, outcomes by pair: {shown}.")
    return "\n".join([*lines, ""])


def _failure(name: str, found: Figures | None) -> str:
    if found is None:
        return f"| {name} | not measured | | | | | | | |"
    audit = found["audit"]
    return (
        f"| {name} | {audit['decisions'] + audit['rewards']:,} | {audit['lost']} | "
        f"{audit['twice']} | {audit['wrong']} | {audit['miscounted']} | {audit['deviation']:.0e} | "
        f"{found['n_broken']:,} | {found['n_unavailable']:,} |"
    )


def _restart(figures: Figures) -> str:
    found = figures["restart"]
    size = found["store_bytes"] / 1e9
    ready = ", ".join(f"{seconds:.1f}" for seconds in found["ready"])
    return "\n".join(
        [
            "## A million tasks\n",
            f"{found['tasks']:,} tasks, d = 20, {size:.1f} GB in an SQLite file, without what the "
            "prior counts of them. Seconds from the "
            f"start of a process until it is ready: {ready} (bar: 3). Backup: "
            f"{found['backup']:.0f} s; restore: {found['restore']:.0f} s.",
            "",
        ]
    )


def _sizes(figures: Figures) -> str:
    lines = [
        "## Bytes on disk\n",
        "In an SQLite file, with indexes; a task with what the prior counts of it.\n",
        "| d | per task | per decision |",
        "|---:|---:|---:|",
    ]
    lines += [
        f"| {d} | {found['task']:,.0f} | {found['decision']:,.0f} |"
        for d, found in figures["sizes"].items()
    ]
    return "\n".join([*lines, ""])


def _null_worlds(figures: Figures) -> str:
    found = figures["null_worlds"]
    kinds = {
        "normal": "normal",
        "clicks": "20 rounds, 2 % clicks",
        "rare": "20 rounds, 0.1 % clicks",
    }
    lines = [
        "## Null worlds\n",
        f"{found['worlds']:,} simulated experiments without a gain, looked at after every one of "
        f"{found['tasks']:,} tasks: how many ever exclude 0 (bar: 5 %), and how wide the interval "
        "is at 1,000 tasks, by Welch's for one look (bar: 1.6; with clicks so rare, most control "
        "groups have none and Welch's is too narrow).\n",
        "| mean reward of a task | control | ever exclude 0 | width by Welch's |",
        "|---|---:|---:|---:|",
    ]
    lines += [
        f"| {kinds[row['kind']]} | {row['share']:.0%} | {row['ever']:.1%} | {row['width']:.2f} |"
        for row in found["null"]
    ]
    lines += [
        "",
        "As many experiments with a true gain of 5 % and half of the tasks in the control. The "
        "noise is such that a fixed test, looked at once, finds the gain in 80 % of cases. Tasks "
        "until the watched interval excludes 0, as a multiple of the fixed test's (bar: 80 % with "
        "at most 1.6² = 2.56 times the tasks at 1,000, where the interval is tightest).\n",
        "| fixed test, tasks | half have found it by | 80 % by | found by 2.56 times |",
        "|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row['size']:,} | {row['median']:.2f} | {row['found_80']:.2f} | "
        f"{row['found_by_bar']:.1%} |"
        for row in found["gains"]
    ]
    return "\n".join([*lines, ""])
