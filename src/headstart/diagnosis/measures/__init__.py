"""Measures of a recording, by subject."""
