"""Experiments as data: what to play, how it is cut and run, and the results on disk."""
