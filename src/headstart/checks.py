"""Checks of input: each returns the value or raises a `ValueError` that names it."""

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Booleans, Floats

T = TypeVar("T")

# A feature's size is far from the others' if its root mean square differs from their median by more
# than this factor. Smaller differences cost next to nothing, and often mean something.
FAR = 8.0

# Booleans, integers, floats, and Python's numbers.
_NUMBERS = "biufO"


def floats(name: str, value: ArrayLike, order: Literal["C", "A"] = "C") -> Floats:
    """A finite, writable float64 array, C-contiguous unless `order` is "A"; copied if needed."""
    try:
        given = np.asarray(value)
        if given.dtype.kind not in _NUMBERS:  # NumPy would read text and dates as numbers
            raise TypeError
        array = np.require(given, dtype=np.float64, requirements=["A", "W", order])
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be an array of numbers, got {short(value)}") from error
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        at = f" at index {where}" if where else ""
        raise ValueError(f"{name} must be finite, got {array[where]}{at}")
    return array


def shape(name: str, array: Floats, expected: tuple[int, ...], meaning: str) -> None:
    """An array of exactly this shape; `meaning` is the shape in symbols, such as "(…, K, d)"."""
    if array.shape != expected:
        raise ValueError(f"{name} must have shape {meaning} = {expected}, got {array.shape}")


def about(name: str, value: ArrayLike, lead: tuple[int, ...], size: int | None = None) -> Floats:
    """Side information of tasks, (…, p) with p of at least 1, or exactly the size if given."""
    array = floats(name, value)
    n = array.shape[-1] if size is None and array.ndim else size
    if array.ndim == 0 or array.shape != (*lead, n) or n == 0:
        expected = "p" if size is None else size
        raise ValueError(f"{name} must have shape (…, p) = {(*lead, expected)}, got {array.shape}")
    return array


def real(name: str, value: float) -> float:
    """A real number."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise ValueError(f"{name} must be a number, got {short(value)}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} must fit a float, got {short(value)}") from None


def positive(name: str, value: float) -> float:
    """A finite number above zero."""
    number = real(name, value)
    if not 0.0 < number < np.inf:
        raise ValueError(f"{name} must be a finite number above 0, got {value!r}")
    return number


def nonnegative(name: str, value: float) -> float:
    """A finite number of at least zero."""
    number = real(name, value)
    if not 0.0 <= number < np.inf:
        raise ValueError(f"{name} must be a finite number of at least 0, got {value!r}")
    return number


def probability(name: str, value: float) -> float:
    """A number strictly between 0 and 1."""
    number = real(name, value)
    if not 0.0 < number < 1.0:
        raise ValueError(f"{name} must be strictly between 0 and 1, got {value!r}")
    return number


def share(name: str, value: float) -> float:
    """A number from 0 to 1."""
    number = real(name, value)
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"{name} must be from 0 to 1, got {value!r}")
    return number


def count(name: str, value: int, least: int = 1) -> int:
    """An integer of at least the given size."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {short(value)}")
    return int(value)


def one_of(name: str, value: str, known: Iterable[str]) -> str:
    """One of the known names."""
    names = sorted(known)
    if value not in names:
        raise ValueError(f"{name} must be one of {', '.join(names)}, got {value!r}")
    return value


def regularization(name: str, value: ArrayLike, word: str | None = None) -> None:
    """A number above zero, a positive definite matrix, or this word, if one is given."""
    if isinstance(value, str):
        if value != word:
            allowed = "a number or a matrix" if word is None else f'a number, a matrix or "{word}"'
            raise ValueError(f"{name} must be {allowed}, got {value!r}")
        return
    array = floats(name, value)
    if array.ndim == 0:
        if array <= 0:
            raise ValueError(f"{name} must be above 0, got {array}")
        return
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ValueError(f"{name} must be a number or a (d, d) matrix, got shape {array.shape}")
    positive_definite(name, array)


def regularization_shape(name: str, value: ArrayLike, dimension: int) -> None:
    """A number, or a matrix of this dimension."""
    if np.ndim(value) != 0 and np.shape(value) != (dimension, dimension):
        raise ValueError(
            f"{name} must be a number or a (d, d) = ({dimension}, {dimension}) matrix, "
            f"got shape {np.shape(value)}"
        )


def positive_definite(name: str, matrices: Floats) -> None:
    """Symmetric matrices (…, d, d) with eigenvalues above zero."""
    symmetric(name, matrices)
    smallest = float(np.linalg.eigvalsh(matrices).min())
    if smallest <= 0:
        raise ValueError(
            f"{name} must be positive definite, got a smallest eigenvalue of {smallest:.3g}"
        )


def positive_semidefinite(name: str, matrix: Floats) -> None:
    """A symmetric matrix (d, d) with no eigenvalue below zero, up to rounding."""
    symmetric(name, matrix)
    values = np.linalg.eigvalsh(matrix)
    if values[0] < -1e-10 * np.abs(values).max():
        raise ValueError(
            f"{name} must be positive semidefinite, got a smallest eigenvalue of {values[0]:.3g}"
        )


def symmetric(name: str, matrices: Floats) -> None:
    """Matrices (…, d, d) that equal their transposes, up to rounding."""
    difference = np.abs(matrices - matrices.mT)
    if (difference > 1e-10 * np.abs(matrices).max()).any():
        where = tuple(int(i) for i in np.unravel_index(np.argmax(difference), difference.shape))
        mirrored = (*where[:-2], where[-1], where[-2])
        raise ValueError(
            f"{name} must be symmetric, got {matrices[where]} at {where} "
            f"and {matrices[mirrored]} across the diagonal"
        )


def far_apart(sizes: Floats) -> tuple[Floats, Booleans]:
    """Sizes of features (d,) over the median of the positive ones, and which are far; 0 is not."""
    seen = sizes > 0.0
    usual = float(np.median(sizes[seen])) if seen.any() else 1.0
    ratio = np.where(seen, sizes, usual) / usual
    return ratio, (ratio > FAR) | (ratio < 1.0 / FAR)


def trusted(kind: type[T], **fields: object) -> T:
    """An object of a frozen dataclass whose fields are right by construction, without checks."""
    made = object.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


def having(name: str, value: T, method: str, expected: str) -> T:
    """An object with a method; not a class, or a function that makes one."""
    called = str(getattr(value, "__name__", ""))
    if called.isidentifier() and (isinstance(value, type) or not hasattr(value, method)):
        raise ValueError(f"{name} must be {expected}, got {called} itself: write {called}(…)")
    if not hasattr(value, method):
        raise ValueError(f"{name} must be {expected}, got {short(value)}")
    return value


def short(value: object) -> str:
    """The value as an error message shows it, in at most 60 characters."""
    try:
        text = repr(value)
    except ValueError:  # Python prints no integer of more than 4300 digits
        text = f"{type(value).__name__} of too many digits to print"
    return text if len(text) <= 60 else f"{text[:57]}..."
