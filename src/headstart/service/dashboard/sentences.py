"""Sentences: what the measures say, in words."""

import math

from headstart.intervals import Interval
from headstart.service.dashboard.formats import count, interval_words
from headstart.service.store.queries.activity import Sums
from headstart.service.store.schema import EARLY_ROUNDS


def gain_sentence(gain: Interval | None, warm: Sums, control: Sums, share: float) -> str:
    """Whether the warm start pays, or why that cannot be said."""
    if share == 0.0 and control.n == 0:
        return (
            "The gain is not measured: no task starts cold. Set control_share, to 0.05 for "
            "instance, and a small share of new tasks becomes the control."
        )
    if gain is None or not math.isfinite(gain.error):
        return (
            f"Too little data for the gain yet: it compares the first {EARLY_ROUNDS} rounds of at "
            f"least two warm and two control tasks, and there are {count(warm.n)} and "
            f"{count(control.n)}."
        )
    mean, low, high = interval_words(gain)
    tasks = f"{count(warm.n)} tasks against {count(control.n)}"
    if gain.low > 0.0:
        return (
            f"Tasks that start warm earn {mean} more per round than the control, 95 % interval "
            f"{low} to {high}; {tasks}."
        )
    if gain.high < 0.0:
        less, least, most = interval_words(-gain)
        return (
            f"Tasks that start warm earn {less} less per round than the control, 95 % interval "
            f"{least} to {most}; {tasks}."
        )
    return (
        "Warm tasks and the control cannot be told apart yet: the difference is "
        f"{mean} per round, 95 % interval {low} to {high}; {tasks}."
    )


def drift_sentence(moved: float | None, span: str) -> str:
    """How far the prior's mean moved, and what that means."""
    if moved is None:
        return "The prior has one version: there is no movement to show yet."
    text = f"In {span} the mean moved by {moved:.2g} of its spread"
    if moved < 0.1:
        return f"{text}: the prior is steady."
    if moved < 1.0:
        return f"{text}: tasks now start from somewhat other values."
    return f"{text}: what tasks have in common has changed, or is still being learned."
