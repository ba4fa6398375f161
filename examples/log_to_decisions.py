"""From a CSV file of clicks to decisions for new users, and the reasons for them."""

import pandas as pd

import headstart as hs

# A simulated shop writes the log; put the name of your own file here.
log = hs.environments.Shop(n_items=60).world(seed=0, n_users=400).log(3000)
log.to_csv("clicks.csv", index=False)

features = hs.Features.infer("clicks.csv", reward="click", task="user")
bandit = hs.MetaBandit(features=features, reward_range=(0, 1), seed=0)
bandit.fit("clicks.csv", task="user", reward="click")

items = pd.read_csv("clicks.csv").drop_duplicates("item").set_index("item")
catalogue = hs.Catalogue(items, features=bandit.features)
decision = bandit.decide("a new user", catalogue, about={"segment": "families"})
print(bandit.explain(decision))
bandit.reward(decision.id, 1.0)
bandit.save("shop.npz")
