"""Files that are written whole or not at all, for the experiments."""

from headstart.files import written_whole

__all__ = ["written_whole"]
