"""One BLAS thread for live use: its products are small, and a service has other processes."""

import importlib
import os
import threading
from typing import Any

# OpenBLAS shares a product of matrices between threads from 2¹⁸ multiplications on, and a product
# with a vector from 9,216 on. Where it does not, setting the number of threads is not worth it.
_SHARED_MATRIX, _SHARED_VECTOR = 1 << 18, 9216


class OneBlasThread:
    """A context in which BLAS uses one thread, and then as many as before.

    Most libraries have one number of threads for the whole process. So contexts may overlap: the
    first to begin sets the number, and the last to end restores it. That takes a few microseconds;
    finding the libraries, once per process, takes about a millisecond.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth = 0
        self._libraries: _Libraries | None = None
        self._before: list[tuple[Any, int]] = []
        self._of_thread = threading.local()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._start_anew)

    def __enter__(self) -> None:
        with self._lock:
            if self._libraries is None:
                self._libraries = _Libraries()
            if self._depth == 0:
                self._before = _limit(self._libraries.of_process)
            self._depth += 1
        if self._libraries.of_threads:
            self._of_thread.before = [*self._own(), _limit(self._libraries.of_threads)]

    def __exit__(self, *_: object) -> None:
        if self._libraries is not None and self._libraries.of_threads and self._own():
            _set(self._of_thread.before.pop())
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                _set(self._before)

    def _own(self) -> list[list[tuple[Any, int]]]:
        return getattr(self._of_thread, "before", [])

    def _start_anew(self) -> None:
        """In the child of a fork: contexts of other threads do not end there."""
        self._lock = threading.Lock()
        if self._depth:
            self._depth = 0
            _set(self._before)


class _Libraries:
    """The BLAS libraries, by whether all calling threads share one number of threads."""

    def __init__(self) -> None:
        from threadpoolctl import ThreadpoolController  # noqa: PLC0415 - for large products only

        # Numba's own library, loaded at its first product.
        importlib.import_module("scipy.linalg.cython_blas")
        libraries = ThreadpoolController().select(user_api="blas").lib_controllers
        self.of_threads = [library for library in libraries if _layer(library) == "openmp"]
        self.of_process = [library for library in libraries if _layer(library) != "openmp"]


def _layer(library: Any) -> str:
    return str(getattr(library, "threading_layer", ""))


def _limit(libraries: list[Any]) -> list[tuple[Any, int]]:
    """Set one thread. Returns the libraries whose number this changed, with the old number."""
    changed = [(library, n) for library in libraries if (n := library.get_num_threads()) != 1]
    if not changed:
        return changed
    _set([(library, 1) for library, _ in changed])
    # Another thread may have set the number already.
    return [(library, number) for library, number in changed if library.get_num_threads() == 1]


def _set(numbers: list[tuple[Any, int]]) -> None:
    for library, number in numbers:
        library.set_num_threads(number)
        # Otherwise it would refuse other threads, and one of them may be the last to end.
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread()


def is_shared(n_arms: int, dimension: int) -> bool:
    """Whether BLAS would share reading K arms, (K, d) times (d, d), between threads."""
    size = dimension * dimension
    return n_arms * size >= _SHARED_MATRIX or (n_arms == 1 and size >= _SHARED_VECTOR)


one_blas_thread = OneBlasThread()
