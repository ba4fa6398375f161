"""The products of columns: crosses, for the arms of a decision and for the rows of a log."""

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.kernels.compilation import compiled


@compiled(inline="always", fastmath=False)
def _shared(context: Floats, task: Floats, n_items: int, column: int) -> float:
    """A column that all arms share: of the context, then of the task."""
    at = column - n_items
    return context[at] if at < context.shape[0] else task[at - context.shape[0]]  # type: ignore[no-any-return]


@compiled(inline="always", fastmath=False)
def _add_product(
    items: Floats, context: Floats, task: Floats, left: int, right: int, arms: Floats, place: int
) -> None:
    """Add the product of two columns to one of all arms."""
    n_arms, n_items = items.shape
    if left < n_items and right < n_items:
        for k in range(n_arms):
            arms[k, place] += items[k, left] * items[k, right]
    elif left < n_items or right < n_items:
        of_item, other = (left, right) if left < n_items else (right, left)
        factor = _shared(context, task, n_items, other)
        if factor != 0.0:
            for k in range(n_arms):
                arms[k, place] += items[k, of_item] * factor
    else:
        product = _shared(context, task, n_items, left) * _shared(context, task, n_items, right)
        if product != 0.0:
            for k in range(n_arms):
                arms[k, place] += product


@compiled(fastmath=False)
def fill_arms(
    items: Floats,
    context: Floats,
    task: Floats,
    crosses: Integers,
    places: Integers,
    arms: Floats,
) -> None:
    """Write arms (K, d) from items (K, d_item) and their common context (c,) and task (p,).

    The columns are the items', the context's, the crosses', and the constant. A cross is (left,
    n_left, right, n_right, first): its columns, and where the places of its products begin in
    `places`. Products are added in this order, here and in `cross_rows`. If a factor that all arms
    share is 0, its products are skipped.
    """
    n_arms, n_items = items.shape
    common = np.zeros(arms.shape[1])
    for a in range(context.shape[0]):
        common[n_items + a] = context[a]
    common[arms.shape[1] - 1] = 1.0
    for k in range(n_arms):
        for a in range(arms.shape[1]):
            arms[k, a] = common[a]
        for a in range(n_items):
            arms[k, a] = items[k, a]
    for c in range(crosses.shape[0]):
        left, n_left, right, n_right, first = crosses[c]
        for i in range(n_left):
            for j in range(n_right):
                place = places[first + i * n_right + j]
                _add_product(items, context, task, left + i, right + j, arms, place)


@compiled(fastmath=False)
def cross_rows(
    rows: Floats, tasks: Floats, n_alone: int, crosses: Integers, places: Integers
) -> None:
    """Add products and constant to rows (n, d), whose columns before n_alone are set.

    Columns of a cross from n_alone on are columns of the rows' tasks (n, p). Most columns of a
    category are 0, and their products are skipped.
    """
    last = rows.shape[1] - 1
    for k in range(rows.shape[0]):
        rows[k, last] = 1.0
    for c in range(crosses.shape[0]):
        left, n_left, right, n_right, first = crosses[c]
        for k in range(rows.shape[0]):
            for i in range(n_left):
                column = left + i
                one = rows[k, column] if column < n_alone else tasks[k, column - n_alone]
                if one != 0.0:
                    for j in range(n_right):
                        column = right + j
                        other = rows[k, column] if column < n_alone else tasks[k, column - n_alone]
                        if other != 0.0:
                            rows[k, places[first + i * n_right + j]] += one * other
