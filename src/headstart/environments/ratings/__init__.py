"""Environments from tables of ratings."""
