"""
A warm start against a cold one
===============================

Regret of a new task that starts from zero, and after ten other tasks. ITL is the paper's learner of
a task alone; headstart's policy from zero shows what the policy does without a prior. Bands
are 95 % intervals over 100 replications.
"""

import matplotlib.pyplot as plt

import headstart as hs
from headstart import plotting

results = hs.evaluate(
    hs.environments.Synthetic(reward="linear"),
    [hs.learners.itl(regularization=1.0), hs.learners.headstart()],
    n_training_tasks=[0, 10],
    n_test_tasks=4,
    horizon=50,
    replications=100,
)
regret = results.regret.mean("task").cumsum("round")
curves = {
    "from zero, OFUL (ITL)": (regret.sel(learner="ITL", trained=0), "0.5"),
    "from zero, same policy": (regret.sel(learner="headstart", trained=0), "#D55E00"),
    "after ten tasks": (regret.sel(learner="headstart", trained=10), "#0072B2"),
}
totals = {name: float(curve.mean("replication")[-1]) for name, (curve, _) in curves.items()}
with plotting.settings():
    _, axes = plt.subplots(figsize=(5.6, 3.1), layout="constrained")
    for name, (curve, colour) in curves.items():
        mean, reach = curve.mean("replication"), 1.96 * curve.std("replication", ddof=1) / 10
        axes.plot(curve["round"], mean, color=colour)
        axes.fill_between(curve["round"], mean - reach, mean + reach, color=colour, alpha=0.18)
        axes.annotate(f" {name}", (50, totals[name]), color=colour, va="center")
    axes.set(xlim=(1, 50), ylim=(0, None), xlabel="round of the new task", ylabel="regret so far")
    title = "Regret of a new task: {:.0f} from zero, {:.1f} after ten tasks"
    axes.set_title(title.format(*list(totals.values())[1:]))
