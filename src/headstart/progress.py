"""How long work reports its progress."""

from collections.abc import Callable

# Called with how much is done and with the total, in units of the work; the total is 0 if it is not
# known.
Progress = Callable[[int, int], None]
