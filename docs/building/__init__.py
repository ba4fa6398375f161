"""What `make docs` generates and checks.

`extension`, `mathematics` and parts of `docstrings` need what the extra `docs` brings; all else is
plain Python.
"""
