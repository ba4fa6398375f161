"""Figures and documents: one style for all of them."""
