"""The page of a diagnosis: its answers in words, tables and figures."""

from collections.abc import Iterator
from pathlib import Path

from headstart import theory
from headstart.diagnosis import figures
from headstart.diagnosis.answers import answers, reasons
from headstart.diagnosis.diagnosis import Diagnosis, RegularizationRule
from headstart.plotting.document import (
    Block,
    Heading,
    Items,
    Paragraph,
    Picture,
    Table,
    write_document,
)
from headstart.theory import TERMS

_RULES: dict[RegularizationRule, str] = {
    "Corollary 2": "Corollary 2: 1/(T Var)",
    "Bayes": "Bayes: s²d/Var",
    "least regret": "least regret among those played",
}


def write(diagnosis: Diagnosis, folder: Path) -> Path:
    """Write the page and its figures into a folder; returns the page."""
    figures.plot(diagnosis, folder)
    page = folder / "diagnosis.md"
    write_document(list(blocks(diagnosis)), page)
    return page


def blocks(diagnosis: Diagnosis) -> Iterator[Block]:
    """The page, block by block."""
    yield Heading("Diagnosis", level=1)
    yield from _answers(diagnosis)
    yield Paragraph(_study(diagnosis))
    yield Heading("Regret and its bound")
    yield from _regret(diagnosis)
    yield Heading("The terms of the error of the bias")
    yield from _terms(diagnosis)
    yield Heading("Alignment and confidence sets")
    yield from _alignment(diagnosis)
    yield Heading("Three choices of λ")
    yield from _regularization(diagnosis)


def _answers(diagnosis: Diagnosis) -> Iterator[Block]:
    for answer in answers(diagnosis):
        yield Paragraph(answer.headline, strong=True)
        yield Paragraph(answer.detail)
    yield Items([reason.sentence for reason in reasons(diagnosis)])


def _study(diagnosis: Diagnosis) -> str:
    facts = diagnosis.dataset.attrs
    rule = f", {facts['rule']}" if "rule" in facts else ""
    return (
        f"{facts.get('environment', 'An environment')}{rule}, {diagnosis.n_tasks} tasks of "
        f"{diagnosis.horizon} rounds, {diagnosis.counted}, seed "
        f"{facts.get('seed')}. Regret is per task, over the last "
        f"{diagnosis.n_tasks - diagnosis.late.start} tasks. Brackets are 95 % intervals."
    )


def _regret(diagnosis: Diagnosis) -> Iterator[Block]:
    yield Picture("regret-and-error", "Regret and its bound, and the error of the bias.")
    rows, violated = [], {}
    for name in diagnosis.learners:
        regret, bound = diagnosis.regret(name), diagnosis.bound(name)
        zero = None if name in diagnosis.from_zero else diagnosis.baseline(name)
        saved = "–" if zero is None else f"{diagnosis.saved(name, zero):.2f}"
        value = diagnosis.regularization(name)
        ridge = "–" if value is None else f"{value:.3g}"
        cells = [name, ridge, f"{regret:.2f}", saved, "–" if zero is None else zero]
        if bound is None:
            cells += ["–", "–"]
        else:
            ratio = f"{bound.total / regret.mean:.0f}" if regret.mean > 0 else "–"
            cells += [f"{bound.total:.0f}", ratio]
            violated.update(dict.fromkeys(bound.violated))
        rows.append(cells)
    rows += [[name, "–", f"{diagnosis.regret(name):.2f}", *"––––"] for name in diagnosis.agents]
    yield Table(
        ["learner", "λ", "regret", "saved", "against", "Lemma 2's bound", "bound / regret"],
        rows,
        frozenset({0, 4}),
    )
    yield Paragraph(
        f"Without any theorem, regret is at most {diagnosis.trivial_bound:.0f}. The bound is "
        "for OFUL with Λ = λI and Theorem 1's radius, which depends on ‖h − w‖; a learner may use "
        "a smaller one. Other policies and learned Λ have no such bound (–). “Saved” compares "
        "with the learner that starts from zero with the same policy, if there is one. An agent "
        "without a prior has a regret, but no estimate to diagnose (–)."
    )
    for sentence in violated:
        yield Paragraph(f"Not covered: {sentence}.")


def _terms(diagnosis: Diagnosis) -> Iterator[Block]:
    rows = []
    for name in diagnosis.learned:
        terms = diagnosis.error_terms(name)
        if terms is not None:
            squares = [(terms.total**2).sum(-1), *terms.squares().values()]
            rows.append([name, *(f"{square.mean():.3g}" for square in squares)])
    yield Table(["learner", "ε", *TERMS], rows)
    yield Paragraph(
        "Squared lengths of the terms of h − w̄. Their sum is not ε: the terms are not orthogonal."
    )


def _alignment(diagnosis: Diagnosis) -> Iterator[Block]:
    yield Picture("alignment-and-coverage", "Misalignment by task, and confidence sets.")
    grams = {name: diagnosis.of(name, "gram") for name in diagnosis.learners}
    yield Table(
        ["learner", "largest σ_max", "off the shared basis", "least λ_min(V_j)", "ν_min"],
        [
            [
                name,
                f"{theory.misalignment(gram).max(1).mean():.3f}",
                f"{100 * theory.shared_basis(gram).off_diagonal.mean():.1f} %",
                f"{theory.smallest_eigenvalues(gram).min(1).mean():.3g}",
                f"{theory.smallest_global_eigenvalue(gram).mean():.3g}",
            ]
            for name, gram in grams.items()
        ],
    )
    yield Paragraph(
        "Assumption 2 holds if nothing is off the shared basis; then no σ_max exceeds 1."
    )


def _regularization(diagnosis: Diagnosis) -> Iterator[Block]:
    yield Table(
        ["λ", "value", "the Oracle's regret there"],
        [
            [
                _RULES[choice.rule],
                f"{choice.value:.3g}",
                "not played" if choice.regret is None else f"{choice.regret:.2f}",
            ]
            for choice in diagnosis.regularization_choices
        ],
    )
    policy = diagnosis.dataset.attrs.get("oracle_policy")
    if policy is not None:
        yield Paragraph(f"The Oracle here starts from w̄ and plays {policy}.")
