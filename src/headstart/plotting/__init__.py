"""Figures and documents: one style for all of them."""

from headstart.plotting.curves import band, plot
from headstart.plotting.directions import plot_directions
from headstart.plotting.live import plot_estimate, plot_prior, plot_reward_by_age
from headstart.plotting.study_figures import plot_overview
from headstart.plotting.study_report import write_study_report
from headstart.plotting.style import figure, save, settings

__all__ = [
    "band",
    "figure",
    "plot",
    "plot_directions",
    "plot_estimate",
    "plot_overview",
    "plot_prior",
    "plot_reward_by_age",
    "save",
    "settings",
    "write_study_report",
]
