"""Views for compiled functions: a part of a vector as an array of any shape.

A slice counts a reference to the memory of its array, atomically, and `reshape` looks for strides.
For the few views that a task's row consists of, both take a third of the time of a decision.
"""

import math
from collections.abc import Callable
from typing import Any

from numba.core import cgutils, types
from numba.extending import intrinsic, overload
from numba.np.arrayobj import populate_array

from headstart.arrays import Floats

# Numba has no types for these.
_intrinsic: Callable[[Any], Any] = intrinsic
_overload: Callable[[Any], Callable[[Any], Any]] = overload
_unpack: Callable[[Any, Any], list[Any]] = cgutils.unpack_tuple
_populate: Callable[..., None] = populate_array


def view(vector: Floats, offset: int, shape: tuple[int, ...]) -> Floats:
    """The numbers of a contiguous vector from an offset on, as an array of this shape.

    Compiled code checks nothing, and the view does not keep the vector alive: use it for vectors
    that an argument of the compiled function holds, and do not return it to Python.
    """
    return vector[offset : offset + math.prod(shape)].reshape(shape)


@_intrinsic
def _view(_: Any, vector: Any, offset: Any, shape: Any) -> Any:
    result = types.Array(vector.dtype, len(shape), "C")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        source = context.make_array(vector)(context, builder, args[0])
        sizes = [
            context.cast(builder, size, kind, types.intp)
            for size, kind in zip(_unpack(builder, args[2]), shape, strict=True)
        ]
        strides = [source.itemsize]
        for size in reversed(sizes[1:]):
            strides.insert(0, builder.mul(strides[0], size))
        made = context.make_array(result)(context, builder)
        _populate(
            made,
            data=builder.gep(source.data, [args[1]]),
            shape=sizes,
            strides=strides,
            itemsize=source.itemsize,
            meminfo=None,
        )
        return made._getvalue()

    return result(vector, types.intp, shape), generate


@_overload(view)
def _compiled_view(vector: Any, offset: int, shape: Any) -> Any:
    def same(vector: Any, offset: int, shape: Any) -> Any:
        return _view(vector, offset, shape)

    return same
