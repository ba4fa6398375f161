"""A bandit's own products have one BLAS thread: with more, they wait for cores that others use."""

import subprocess
import sys

CODE = """
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

import headstart as hs

def n_threads():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

class Watching(hs.priors.Hierarchical):
    def prior(self, memory, about=None):
        seen.append(n_threads())
        return super().prior(memory, about)

seen = []
bandit = hs.MetaBandit(dimension=2, prior=Watching(), seed=0)
threadpool_limits(2, "blas")
for user in range(3):
    bandit.observe(user, [1.0, 0.5], 1.0)
print(seen[-1], n_threads())
"""


def test_a_prior_is_computed_by_one_thread_and_the_limit_ends_with_it() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["{1}", "{2}"]
