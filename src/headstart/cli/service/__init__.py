"""Commands of the decision service."""
