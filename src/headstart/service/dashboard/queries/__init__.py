"""Queries: what the pages read, short and on indices only, however large the store is."""
