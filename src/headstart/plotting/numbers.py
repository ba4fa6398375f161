"""Numbers of a report as text, to the digits that their errors allow."""

from collections.abc import Sequence

import numpy as np

from headstart.intervals import Interval


def measured_texts(column: Sequence[Interval]) -> list[str]:
    """Means and standard errors with the same decimals, so that a column is aligned."""
    digits = _shared_places([measured.error for measured in column])
    return [measured_text(measured, digits) for measured in column]


def interval_texts(column: Sequence[Interval]) -> list[str]:
    """Means and 95 % intervals with the same decimals."""
    digits = _shared_places([(measured.high - measured.low) / 2 for measured in column])
    return [interval_text(measured, digits) for measured in column]


def _shared_places(errors: Sequence[float]) -> int:
    """Two digits of the median error, and at least one of the smallest that is not 0."""
    known = [error for error in errors if error > 0 and np.isfinite(error)]
    if not known:
        return 0
    return max(places(float(np.median(known))), places(min(known)) - 1)


def measured_text(measured: Interval, digits: int | None = None) -> str:
    """A mean and its standard error, to two digits of the error unless given: "5.63 ± 0.05"."""
    if measured.replications < 2:
        return f"{measured.mean:.4g} (1 replication)"
    digits = places(measured.error) if digits is None else digits
    return f"{number_text(measured.mean, digits)} ± {number_text(measured.error, digits)}"


def interval_text(measured: Interval, digits: int | None = None) -> str:
    """A mean and its 95 % interval, to two digits of the interval's half width unless given."""
    if measured.replications < 2:
        return f"{measured.mean:.4g} (1 replication)"
    digits = places((measured.high - measured.low) / 2) if digits is None else digits
    mean, low, high = (
        number_text(value, digits) for value in (measured.mean, measured.low, measured.high)
    )
    return f"{mean} [{low}, {high}]"


def p_value_text(value: float) -> str:
    """A p-value to two digits, "< 0.0001" at the least."""
    return "< 0.0001" if value < 1e-4 else f"{value:.2g}"


def regularization_text(value: float | None) -> str:
    """A λ to three digits; "–" if a learner does not use the grid."""
    if value is None or np.isnan(value):
        return "–"
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def sizes_text(sizes: Sequence[int]) -> str:
    """Numbers as a list, four or more that follow each other as a range: "0, 1, …, 30, 50"."""
    parts: list[str] = []
    for run in _runs(sizes):
        parts += map(str, run) if len(run) < 4 else [str(run[0]), "…", str(run[-1])]
    return ", ".join(parts)


def _runs(sizes: Sequence[int]) -> list[list[int]]:
    """Neighbours that differ by one, together."""
    runs: list[list[int]] = []
    for size in sizes:
        if runs and size == runs[-1][-1] + 1:
            runs[-1].append(size)
        else:
            runs.append([size])
    return runs


def places(error: float) -> int:
    """The decimals that show two digits of an error."""
    if error == 0 or not np.isfinite(error):
        return 0
    return min(6, max(0, 1 - int(np.floor(np.log10(error)))))


def number_text(value: float, digits: int) -> str:
    """A number with this many decimals, and a true minus sign."""
    return true_minus(f"{value:,.{digits}f}")


def true_minus(number: str) -> str:
    """A number as text, with a true minus sign."""
    return number.replace("-", "−")
