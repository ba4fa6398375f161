"""Queries: every table has one reader here."""
