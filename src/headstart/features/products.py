"""The arms of a decision: columns of items and of what surrounds them, and their products."""

from headstart.arrays import Floats, Integers
from headstart.kernels.compilation import compiled


@compiled(inline="always", fastmath=False)
def _shared(context: Floats, task: Floats, column: int) -> float:
    """A column of what all arms share: those of the context, then those of the task."""
    n_context = context.shape[0]
    return context[column] if column < n_context else task[column - n_context]  # type: ignore[no-any-return]


@compiled(fastmath=False)
def fill_arms(
    items: Floats,
    context: Floats,
    task: Floats,
    of_items: Integers,
    mixed: Integers,
    of_shared: Integers,
    arms: Floats,
) -> None:
    """Write arms (K, d) from items (K, d_item) and what all share: context (c,), task (p,).

    Columns are those of the items, of the context, of the crosses, and the constant. A product
    (left, right, target) is added to its target, in the order in which it is listed: of two columns
    of an item, of one of an item and one that all share, or of two that all share. Where a factor
    that all share is 0, as most are of a category, its products are left out.
    """
    n_items, n_context = items.shape[1], context.shape[0]
    last = arms.shape[1] - 1
    first_cross = n_items + n_context
    for k in range(items.shape[0]):
        for a in range(n_items):
            arms[k, a] = items[k, a]
        for a in range(n_context):
            arms[k, n_items + a] = context[a]
        for a in range(first_cross, last):
            arms[k, a] = 0.0
        arms[k, last] = 1.0
        for p in range(of_items.shape[0]):
            arms[k, of_items[p, 2]] += items[k, of_items[p, 0]] * items[k, of_items[p, 1]]
    for p in range(mixed.shape[0]):
        factor = _shared(context, task, mixed[p, 1])
        if factor != 0.0:
            column, target = mixed[p, 0], mixed[p, 2]
            for k in range(items.shape[0]):
                arms[k, target] += items[k, column] * factor
    for p in range(of_shared.shape[0]):
        left = _shared(context, task, of_shared[p, 0])
        product = left * _shared(context, task, of_shared[p, 1])
        if product != 0.0:
            for k in range(items.shape[0]):
                arms[k, of_shared[p, 2]] += product
