"""Threads, forks and the lock of a bandit. Private to `live`."""
