from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import headstart as hs
from headstart.plotting import live
from headstart.plotting import style as plots


def test_plots_show_the_estimate_the_prior_and_rewards(tmp_path: Path) -> None:
    bandit = hs.MetaBandit(dimension=3, seed=0)
    history = []
    for user in range(5):
        history.append(bandit.next_prior().bias)
        bandit.observe(user, np.ones(3), 1.0)
        bandit.finish(user)
    bandit.observe("now", np.ones(3), 1.0)
    with plots.figure(tmp_path / "live.png", columns=3) as axes:
        live.plot_estimate(axes[0], bandit.task("now"))
        live.plot_prior(axes[1], history, names=["a", "b", "c"])
        live.plot_reward_by_age(axes[2], {"warm": np.ones((4, 5)), "cold": np.zeros((4, 6))})
        assert len(axes[1].lines) == 3
        assert axes[2].get_xlim() == (1, 6)
        plotted = np.asarray(axes[0].lines[0].get_xdata(), dtype=np.float64)
        np.testing.assert_allclose(plotted, bandit.task("now").estimate.parameter)
    assert (tmp_path / "live.png").stat().st_size > 1000
    assert isinstance(axes[0].figure, Figure)


def test_a_plot_shows_what_is_below_zero(tmp_path: Path) -> None:
    with plots.figure(tmp_path / "prior.png", columns=2) as axes:
        live.plot_prior(axes[0], np.array([[0.0, 0.0], [-1.0, 1.0]]))
        live.plot_reward_by_age(axes[1], {"warm": np.linspace(0.5, 1, 12).reshape(3, 4)})
    assert axes[0].get_ylim()[0] < -1.0
    assert axes[1].get_ylim()[0] == 0.0


def test_bands_of_one_task_are_left_out(tmp_path: Path) -> None:
    with plots.figure(tmp_path / "one.png") as (axes,):
        live.plot_reward_by_age(axes, {"one task": np.array([[0.5, 1.0, 0.0]])})
        np.testing.assert_array_equal(axes.lines[0].get_ydata(), [0.5, 1.0, 0.0])
    assert axes.get_ylim()[1] < 2.0


def test_first_swings_of_the_prior_do_not_set_its_scale(tmp_path: Path) -> None:
    # The first of 100 tasks moves the bias to −5; from then on it stays within ±0.1.
    history = 0.1 * np.sin(np.arange(200.0)).reshape(100, 2)
    history[1] = -5.0
    with plots.figure(tmp_path / "prior.png") as (axes,):
        live.plot_prior(axes, history)
    low, high = axes.get_ylim()
    assert -0.2 < low < -0.1
    assert 0.1 < high < 0.3
    assert any("-5" in text.get_text() for text in axes.texts)
