"""The decision service under load and under failures."""
