"""Requests in a transaction: decisions, rewards, observations, and the tasks they are for."""
