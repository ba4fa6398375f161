"""Where tasks come from."""

from headstart.environments.synthetic import Synthetic

__all__ = ["Synthetic"]
