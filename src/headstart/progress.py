"""How long work reports its progress."""

from collections.abc import Callable

# Called with how much is done and how much there is in all, in units of the work; the second is 0
# where it is not known.
Progress = Callable[[int, int], None]
