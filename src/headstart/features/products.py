"""The products of columns: crosses, for the arms of a decision and for the rows of a log."""

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.kernels.compilation import compiled


@compiled(fastmath=False)
def fill_arms(
    items: Floats,
    contexts: Floats,
    abouts: Floats,
    crosses: Integers,
    places: Integers,
    arms: Floats,
) -> None:
    """Write arms (n, d) from items (n, d_item), contexts (n, c) and tasks (n, p), or one for all.

    The columns are the items', the contexts', the crosses', and the constant. A cross is (left,
    n_left, right, n_right, first): its columns, and where the places of its products begin in
    `places`. Most columns of a category are 0, and their products are skipped.
    """
    n_items, n_context = items.shape[1], contexts.shape[1]
    n_alone, size = n_items + n_context, arms.shape[1]
    row = np.empty(n_alone + abouts.shape[1])  # all columns that crosses multiply
    start = np.zeros(size)  # an arm without its item and without products
    start[size - 1] = 1.0
    for k in range(arms.shape[0]):
        if k < contexts.shape[0]:
            for a in range(n_context):
                row[n_items + a] = contexts[k, a]
                start[n_items + a] = contexts[k, a]
        if k < abouts.shape[0]:
            for a in range(abouts.shape[1]):
                row[n_alone + a] = abouts[k, a]
        for a in range(size):
            arms[k, a] = start[a]
        for a in range(n_items):
            row[a] = items[k, a]
            arms[k, a] = items[k, a]
        for cross in range(crosses.shape[0]):
            left, n_left, right = crosses[cross, 0], crosses[cross, 1], crosses[cross, 2]
            n_right, first = crosses[cross, 3], crosses[cross, 4]
            for a in range(n_left):
                one = row[left + a]
                if one != 0.0:
                    for b in range(n_right):
                        arms[k, places[first + a * n_right + b]] += one * row[right + b]
