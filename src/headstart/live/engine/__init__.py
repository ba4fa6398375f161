"""The open tasks of a bandit: how they start, decide, learn and end. Private to `live`."""
