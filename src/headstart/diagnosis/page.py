"""The page of a diagnosis: its answers in words, tables and figures."""

from collections.abc import Iterator
from pathlib import Path

from headstart.atomic import atomic_write
from headstart.diagnosis import figures as diagnosis_figures
from headstart.diagnosis.diagnosis import Diagnosis
from headstart.theory import Interval

_WHY = {
    "sampling": "the tasks met so far are not all tasks",
    "bias": "tasks that play different arms weigh differently in the pool",
    "noise": "rewards are noisy",
    "ridge": "its ridge regression shrinks towards 0",
}


def write(diagnosis: Diagnosis, folder: Path) -> Path:
    """Write the page and its figures into a folder; returns the page."""
    diagnosis_figures.draw(diagnosis, folder)
    page = folder / "diagnosis.md"
    with atomic_write(page) as part:
        part.write_text("\n".join(_lines(diagnosis)) + "\n", encoding="utf-8")
    return page


def verdict(diagnosis: Diagnosis) -> str:
    """Whether a warm start pays here, in one sentence."""
    best, baseline = diagnosis.best, diagnosis.baseline
    if best is None or baseline is None:
        return "Nothing to compare: it takes a learner from zero and one that learns its start."
    gain = diagnosis.gain(best, baseline)
    if gain.low > 0:
        share = 100 * gain.value / diagnosis.regret(baseline).value
        return (
            f"**A warm start pays.** {best} saves {gain:.2f} of regret a task against {baseline}, "
            f"{share:.0f} %."
        )
    if gain.high < 0:
        return f"**A warm start hurts.** {best} loses {_negative(gain):.2f} a task to {baseline}."
    return (
        f"**A warm start neither pays nor hurts as far as this study can tell.** {best} saves "
        f"{gain:.2f} a task against {baseline}."
    )


def choice(diagnosis: Diagnosis) -> str:
    """Which estimator suits, in one sentence."""
    rivals = [name for name in diagnosis.learned if name != diagnosis.best]
    if diagnosis.best is None or not rivals:
        return ""
    second = min(rivals, key=lambda name: diagnosis.late_regret(name).mean())
    lead = diagnosis.gain(diagnosis.best, second)
    if lead.low > 0:
        return f"**{diagnosis.best} suits it best**: {lead:.2f} less regret a task than {second}."
    return (
        f"**{diagnosis.best} and {second} cannot be told apart**: they differ by {lead:.2f} a task."
    )


def reasons(diagnosis: Diagnosis) -> Iterator[str]:
    """Why, as far as the theory can say."""
    ratio = diagnosis.ratio
    near = "close together and far from 0" if ratio.high < 0.25 else "apart"
    near = "no closer to their mean than to 0" if ratio.low > 0.75 else near
    yield (
        f"Assumption 1: Var_w̄/Var_0 = {ratio:.3f}. Tasks lie {near}: a known mean removes "
        f"{100 * (1 - ratio.value):.0f} % of a task's mean squared distance from its start."
    )
    for name in diagnosis.learned:
        parts = diagnosis.parts(name)
        if parts is not None:
            sizes = {part: float(square.mean()) for part, square in parts.squares().items()}
            worst = max(sizes, key=lambda part: sizes[part])
            total = float((parts.total**2).sum(-1).mean())
            yield (
                f"{name}: ε = {total:.3g} after {diagnosis.n_tasks - 1} tasks, chiefly because "
                f"{_WHY[worst]} ({sizes[worst]:.3g})."
            )
    if diagnosis.unexplained > 0:
        yield (
            f"The means are not linear in the features: {100 * diagnosis.unexplained:.0f} % of "
            "their sum of squares is left by the best fit, which stands in for w, as the mean of "
            "the fits does for w̄. No confidence set or bound is proved for such tasks."
        )


def _lines(diagnosis: Diagnosis) -> Iterator[str]:
    yield "# Diagnosis"
    yield ""
    yield verdict(diagnosis)
    yield choice(diagnosis)
    yield ""
    yield from (f"- {reason}" for reason in reasons(diagnosis))
    yield ""
    yield _study(diagnosis)
    for title, section in {
        "Regret and its bound": _regret,
        "What the error of the bias is made of": _error,
        "Alignment and confidence": _alignment,
        "λ, three ways": _regularization,
    }.items():
        yield ""
        yield f"## {title}"
        yield ""
        yield from section(diagnosis)


def _study(diagnosis: Diagnosis) -> str:
    sizes, facts = diagnosis.recording.sizes, diagnosis.recording.attrs
    return (
        f"`{facts.get('environment', 'an environment')}`, {sizes['task']} tasks of "
        f"{sizes['round']} rounds, {sizes['replication']} replications, seed {facts.get('seed')}. "
        f"Regret is that of a task among the last {diagnosis.n_tasks - diagnosis.late.start}. "
        "Brackets are 95 % intervals."
    )


def _regret(diagnosis: Diagnosis) -> Iterator[str]:
    yield "![Regret under its bound, and the error of the bias](regret-and-error.png)"
    yield ""
    yield "| learner | regret | saved against zero | Lemma 2's bound | bound / regret |"
    yield "|---|---|---|---|---|"
    zero = diagnosis.baseline
    for name in diagnosis.names:
        regret, (bound, _) = diagnosis.regret(name), diagnosis.bound(name)
        saved = "–" if zero is None or name == zero else f"{diagnosis.gain(name, zero):.2f}"
        loose = f"{bound / regret.value:.0f}" if regret.value > 0 else "–"
        yield f"| {name} | {regret:.2f} | {saved} | {bound:.0f} | {loose} |"
    yield ""
    yield (
        f"Without any theorem the regret is at most {diagnosis.trivial_bound:.0f}. The bound is "
        "for a policy that plays Theorem 1's radius, and so knows ‖h − w‖; a learner may play a "
        "smaller one."
    )
    for sentence in _broken(diagnosis):
        yield ""
        yield f"Not covered: {sentence}."


def _error(diagnosis: Diagnosis) -> Iterator[str]:
    yield "| learner | ε | sampling | bias | noise | ridge |"
    yield "|---|---|---|---|---|---|"
    for name in diagnosis.learned:
        parts = diagnosis.parts(name)
        if parts is not None:
            cells = [(parts.total**2).sum(-1), *parts.squares().values()]
            yield f"| {name} | " + " | ".join(f"{cell.mean():.3g}" for cell in cells) + " |"
    yield ""
    yield "Squared lengths of the parts of h − w̄. They do not add up: the parts are not orthogonal."


def _alignment(diagnosis: Diagnosis) -> Iterator[str]:
    yield "![Misalignment by task, and confidence sets](alignment-and-coverage.png)"
    yield ""
    yield "| learner | largest σ_max | off the shared basis | least λ_min(V_j) | ν_min |"
    yield "|---|---|---|---|---|"
    for name in diagnosis.names:
        each, pooled = diagnosis.eigenvalues(name)
        yield (
            f"| {name} | {diagnosis.misalignment(name).max(1).mean():.3f} "
            f"| {100 * diagnosis.basis(name).off_diagonal.mean():.1f} % "
            f"| {each.min(1).mean():.3g} | {pooled.mean():.3g} |"
        )
    yield ""
    yield "Assumption 2 holds where nothing lies off the shared basis; then no σ_max exceeds 1."


def _regularization(diagnosis: Diagnosis) -> Iterator[str]:
    yield "| λ | value | the Oracle's regret there |"
    yield "|---|---|---|"
    for name, (value, regret) in diagnosis.regularizations().items():
        cell = "not swept" if regret is None else f"{regret:.2f}"
        yield f"| {name} | {value:.3g} | {cell} |"


def _broken(diagnosis: Diagnosis) -> list[str]:
    """The assumptions that do not hold, each once."""
    return list({line: None for name in diagnosis.names for line in diagnosis.bound(name)[1]})


def _negative(interval: Interval) -> Interval:
    return Interval(-interval.value, -interval.high, -interval.low)
