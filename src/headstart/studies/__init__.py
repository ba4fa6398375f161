"""Experiments as data: studies, their shards, the runner, and the results on disk."""
