"""The published setting for non-stochastic tasks."""

import numpy as np
import pytest
from benchmarks.ellipsoid import Ellipsoid


@pytest.mark.parametrize("cosine", [-1.0, -0.5, 0.5, 1.0])
def test_tasks_are_as_similar_as_they_should_be(cosine: float) -> None:
    prepared = Ellipsoid(cosine=cosine).prepare(400, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    tasks = [prepared.sample(1, 400, rng).parameter for _ in range(6)]
    w = np.stack([task for task in tasks if task is not None], 1)
    lengths = np.linalg.norm(w, axis=-1)
    alike = (w / lengths[..., None]) @ (w / lengths[..., None]).mT
    assert alike.min() >= cosine - 1e-9
    # 2,400 lengths uniform in [0, 0.5]: 4 standard errors of the mean are 0.012.
    assert lengths.max() <= 0.5
    assert abs(lengths.mean() - 0.25) < 0.012
    # The direction fills its cone: the largest angle to the axis comes close to half of arccos.
    angles = np.arccos(np.clip((w / lengths[..., None] * prepared.axis[:, None]).sum(-1), -1, 1))
    assert angles.max() <= np.arccos(cosine) / 2 + 1e-6
    assert angles.max() >= 0.97 * np.arccos(cosine) / 2


def test_the_mean_parameter_is_the_mean() -> None:
    prepared = Ellipsoid(cosine=-0.5).prepare(20_000, np.random.default_rng(0))
    parameter = prepared.sample(1, 20_000, np.random.default_rng(1)).parameter
    assert parameter is not None
    along = (parameter * prepared.axis).sum(-1)
    expected = (prepared.mean_parameter * prepared.axis).sum(-1)
    assert abs(along.mean() - expected.mean()) < 4 * along.std() / np.sqrt(20_000)
    across = parameter - along[:, None] * prepared.axis
    assert np.abs(across.mean(0)).max() < 4 * across.std() / np.sqrt(20_000)


def test_arms_have_the_published_second_moment_and_bound() -> None:
    prepared = Ellipsoid(n_arms=20_000).prepare(3, np.random.default_rng(0))
    arms = prepared.sample(1, 3, np.random.default_rng(1)).arms[:, 0]
    assert (np.linalg.norm(arms, axis=-1).max(-1) <= prepared.arm_bound).all()
    assert (np.linalg.norm(arms, axis=-1).max(-1) >= 0.9 * prepared.arm_bound).all()
    found = arms.mT @ arms / 20_000
    center = prepared.center
    expected = center[:, :, None] * center[:, None, :] + prepared.root @ prepared.root.mT
    # An entry is a mean of 20,000 products of size about ‖Σ‖: 4 standard errors are 3 % of it.
    assert (
        np.abs(found - expected).max() < 0.03 * np.linalg.norm(expected, ord=2, axis=(1, 2)).max()
    )
    np.testing.assert_allclose(np.linalg.norm(center, axis=-1), 0.1)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"cosine": 1.5}, "cosine must be from -1 to 1, got 1.5"),
        ({"dimension": 1}, "dimension must be an integer of at least 2, got 1"),
        ({"size": 0.0}, "size must be a finite number above 0"),
        ({"noise_scale": -1.0}, "noise_scale must be"),
    ],
)
def test_settings_are_checked(settings: dict[str, float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Ellipsoid(**settings)  # type: ignore[arg-type]


def test_replications_are_those_prepared() -> None:
    with pytest.raises(ValueError, match="replications must be 2, as prepared, got 3"):
        Ellipsoid().prepare(2, np.random.default_rng(0)).sample(1, 3, np.random.default_rng(0))
