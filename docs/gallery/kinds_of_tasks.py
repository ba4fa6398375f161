"""
Kinds of tasks
==============

Users are of three kinds, and nobody says who is of which kind. The learned prior finds how many
kinds there are, how common each is and what it likes (left: the mean weight of each feature). A new
user's first rewards show the user's kind (right).
"""

import matplotlib.pyplot as plt
import numpy as np

import headstart as hs
from headstart import plotting

rng, features = np.random.default_rng(0), ("price", "comedy", "drama", "sport", "news", "music")
likes = np.array([[-1, 1.5, 0, 0, 0, 0.5], [0, 0, 1.5, -1, 1, 0], [0.5, 0, -1, 1.5, 0, 0]])
bandit = hs.MetaBandit(dimension=6, feature_names=features, seed=0)
for user in range(60):
    taste = likes[rng.choice(3, p=[0.5, 0.3, 0.2])] + rng.normal(0, 0.2, 6)
    for x in rng.normal(size=(12, 6)):
        bandit.observe(user, x, x @ taste + rng.normal())
kinds = bandit.kinds()
probabilities = [[kind.share for kind in kinds]]
for x in rng.normal(size=(6, 6)):  # someone new, of the second kind
    bandit.observe("new", x, x @ likes[1] + rng.normal())
    probabilities.append([kind.tasks.get("new", 0.0) for kind in bandit.kinds(["new"])])
with plotting.settings():
    figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3), layout="constrained")
    image = left.imshow([kind.mean for kind in kinds], cmap="RdBu_r", vmin=-1.6, vmax=1.6)
    left.set_xticks(range(6), features, rotation=40)
    left.set_yticks(range(len(kinds)), [f"{kind.share:.0%}" for kind in kinds])
    left.set(title="what each kind likes", ylabel="share of users")
    left.grid(False)
    figure.colorbar(image, ax=left, shrink=0.8)
    right.plot(probabilities, marker="o", label=[f"kind of {kind.share:.0%}" for kind in kinds])
    right.set(title="a new user", xlabel="rewards so far", ylabel="probability")
    right.legend()
