"""Show each customer one of ten articles, with feature vectors of your own.

Customers share a taste and differ around it. One bandit starts each customer from zero, the other
from what earlier customers taught.
"""

import numpy as np

import headstart as hs

bandits = {
    "from zero": hs.MetaBandit(dimension=8, prior=hs.priors.Fixed.zero(), seed=0),
    "warm": hs.MetaBandit(dimension=8, seed=0),
}
for name, bandit in bandits.items():
    rng = np.random.default_rng(0)
    shared_taste = rng.normal(0, 0.3, 8)
    earned = np.empty((200, 10))
    for customer in range(200):
        taste = shared_taste + rng.normal(0, 0.1, 8)
        for visit in range(10):
            articles = rng.normal(size=(10, 8))
            decision = bandit.decide(f"customer-{customer}", articles)
            earned[customer, visit] = articles[decision.arm_index] @ taste + rng.normal(0, 0.5)
            bandit.reward(decision.id, earned[customer, visit])
    print(f"{name:10} first visit {earned[:, 0].mean():.2f}, all visits {earned.mean():.2f}")
