"""The interface: the table of routes, and its description."""
