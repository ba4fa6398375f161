"""Logs of past decisions, read in one pass into statistics per task."""
