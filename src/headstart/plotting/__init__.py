"""Figures and documents: one style for all of them."""

from headstart.plotting.curves import (
    plot_against_regularization,
    plot_against_tasks,
    plot_cumulative,
    plot_cumulative_difference,
    plot_difference_against_regularization,
    plot_difference_against_tasks,
    plot_per_task,
    plot_per_task_difference,
)
from headstart.plotting.directions import plot_directions
from headstart.plotting.live import plot_estimate, plot_prior, plot_reward_by_age
from headstart.plotting.study_figures import plot_overview
from headstart.plotting.study_report import write_study_report
from headstart.plotting.style import figure, save, settings

__all__ = [
    "figure",
    "plot_against_regularization",
    "plot_against_tasks",
    "plot_cumulative",
    "plot_cumulative_difference",
    "plot_difference_against_regularization",
    "plot_difference_against_tasks",
    "plot_directions",
    "plot_estimate",
    "plot_overview",
    "plot_per_task",
    "plot_per_task_difference",
    "plot_prior",
    "plot_reward_by_age",
    "save",
    "settings",
    "write_study_report",
]
