"""Level set: the response model, the combination, and the signals of released sets."""

import numpy as np
import pytest
import torch
from scipy.stats import rankdata

from attacks.combine import cross_fit_odds, fit_odds, fit_weights
from attacks.released import Released, public_features, released_views, set_signals
from attacks.response import fit_response, membership_weights
from condensers.errors import BadData
from condensers.networks import Network
from condensers.pool import Pool
from condensers.randomness import stream

FIT, TEST, CLASSES, PER_CLASS, PIXELS = 120, 40, 3, 30, 16


def area(members: np.ndarray, scores: np.ndarray) -> float:
    num_in, num_out = int(members.sum()), int((~members).sum())
    ranks = rankdata(scores.ravel())[members.ravel()].sum()
    return float((ranks - num_in * (num_in + 1) / 2) / (num_in * num_out))


def pool_of(*, tabular: bool = True) -> Pool:
    images = stream(3, "records").standard_normal((CLASSES * PER_CLASS, PIXELS)).astype(np.float32)
    labels = torch.arange(CLASSES).repeat_interleave(PER_CLASS)
    shape = (PIXELS,) if tabular else (1, 4, 4)
    return Pool(name="p", images=torch.from_numpy(images).view(-1, *shape), labels=labels, num_classes=CLASSES)


def release(kind: str, noise: float = 0.02) -> tuple[Pool, Released, np.ndarray]:
    """What simulated condensers release: class means, several images, soft labels or copies of members."""
    pool = pool_of()
    generator = stream(4, "release", kind)
    members = generator.random((FIT + TEST, pool.num_records)) < 0.5
    own = pool.images.numpy()
    images, labels = [], []
    for row in members:
        sets, names = [], []
        for label, records in enumerate(pool.class_slices):
            inside = own[records][row[records]]
            if kind == "copies":
                sets.append(inside[generator.choice(len(inside), 2, replace=False)])
            else:
                turned = inside.mean(0) @ _turn(label)
                sets.append(turned + noise * generator.standard_normal((2, PIXELS)))
            names += [label, label]
        images.append(np.concatenate(sets))
        labels.append(names)
    held = np.array(labels)
    if kind == "soft":
        held = np.eye(CLASSES)[held] + 0.05 * generator.standard_normal((*held.shape, CLASSES))
    return pool, Released(images=np.array(images, dtype=np.float32), labels=held), members


def _turn(label: int) -> np.ndarray:
    """An orthogonal map: the set shows its members' mean, but in another basis."""
    return np.linalg.qr(stream(5, "turn", label).standard_normal((PIXELS, PIXELS)))[0]


def test_response_against_the_known_likelihood_ratio() -> None:
    """y = A w + e with A, Var e and Cov w known: the fitted ratio is close to the exact Gaussian one."""
    generator = stream(0, "response")
    num, runs = 40, 1400
    effects = generator.standard_normal((5, num))
    members = generator.random((runs, num)) < 0.5
    weights = membership_weights(members)
    released = weights @ effects.T + 0.05 * generator.standard_normal((runs, 5)) + 3.0
    found = fit_response(released[:1000], members[:1000], np.eye(num)).ratios(released[1000:])
    covariance = np.cov(released.T)
    shift, centred = 2 / num, effects - effects.mean(1, keepdims=True)
    slopes = []
    for record in range(num):
        own = centred[:, record] * shift
        without = covariance - np.outer(own, own) / 4
        exact = (released[1000:] - released.mean(0)) @ np.linalg.solve(without, own)
        assert np.corrcoef(exact, found[:, record])[0, 1] > 0.97
        slopes.append(np.polyfit(exact, found[:, record], 1)[0])
    assert np.mean(slopes) == pytest.approx(1, abs=0.1)


def test_response_of_constant_sets_says_nothing() -> None:
    members = stream(0, "constant").random((40, 10)) < 0.5
    found = fit_response(np.ones((40, 6)), members, np.eye(10)).ratios(np.ones((3, 6)))
    assert np.array_equal(found, np.zeros((3, 10)))


def test_odds_rise_and_match_the_share_of_members_against_theory() -> None:
    """A statistic with P(member | t) = expit(2 t): the fitted log odds are near 2 t where there are many records."""
    generator = stream(1, "odds")
    statistic = generator.uniform(-1, 1, 40000)
    members = generator.random(40000) < 1 / (1 + np.exp(-2 * statistic))
    odds = fit_odds(statistic, members)
    grid = np.linspace(-0.8, 0.8, 9)
    np.testing.assert_allclose(odds(grid), 2 * grid, atol=0.35)
    assert (np.diff(odds(np.linspace(-2, 2, 500))) >= 0).all()


def test_odds_of_noise_are_even_when_cross_fitted() -> None:
    generator = stream(1, "noise")
    statistic, members = generator.standard_normal((40, 300)), generator.random((40, 300)) < 0.5
    fit, _ = cross_fit_odds(statistic, members, statistic[:1])
    assert abs(area(members, fit) - 0.5) < 4 * np.sqrt(1 / (12 * 40 * 300 / 4))


def test_logistic_weights_against_the_law_that_was_drawn() -> None:
    generator = stream(2, "logistic")
    statistics = generator.standard_normal((40000, 3)) * [1.0, 10.0, 0.1]
    law = np.array([1.0, 0.05, 0.0, -0.5])
    members = generator.random(40000) < 1 / (1 + np.exp(-(statistics @ law[:3] + law[3])))
    np.testing.assert_allclose(fit_weights(statistics, members) * [1, 10, 0.1, 1], law * [1, 10, 0.1, 1], atol=0.06)
    separated = np.linspace(-1, 1, 500)[:, None]
    assert np.isfinite(fit_weights(separated, separated[:, 0] > 0)).all()


@pytest.mark.parametrize(("kind", "least"), [("means", 0.75), ("soft", 0.7), ("copies", 0.53)])
def test_set_signals_find_members_of_simulated_condensers(kind: str, least: float) -> None:
    pool, released, members = release(kind)
    network = Network(kind="linear-relu", input_shape=(PIXELS,), num_classes=CLASSES, width=8, depth=1)
    features = public_features(pool, network, [stream(9, "network")])
    signals = set_signals(pool, released, members[:FIT], features)
    assert signals.shape == members.shape
    assert np.isfinite(signals).all()
    assert area(members[FIT:], signals[FIT:]) > least
    assert area(members[:FIT], signals[:FIT]) < area(members[FIT:], signals[FIT:]) + 0.1, "fit runs are not flattered"


def test_copies_of_members_rank_above_all_others() -> None:
    pool, released, members = release("copies")
    signals = set_signals(pool, released, members[:FIT], None)[FIT:]
    num_copies = TEST * released.images.shape[1]
    top = np.argsort(-signals.ravel())[:num_copies]
    assert members[FIT:].ravel()[top].all()


@pytest.mark.parametrize("num_fit", [3, 8, 20])
def test_few_fit_runs_still_give_signals(num_fit: int) -> None:
    pool, released, members = release("means")
    few = Released(images=released.images[FIT - num_fit :], labels=released.labels[FIT - num_fit :])
    signals = set_signals(pool, few, members[FIT - num_fit : FIT], None)
    assert np.isfinite(signals).all()


def test_membership_of_test_runs_cannot_reach_the_signals() -> None:
    """Signals of a test run are a function of the fit runs and of its own set: other test runs may be anything."""
    pool, released, members = release("means")
    whole = set_signals(pool, released, members[:FIT], None)
    images = released.images.copy()
    images[FIT + 1 :] = stream(6, "other").standard_normal(images[FIT + 1 :].shape)
    other = set_signals(pool, Released(images=images, labels=released.labels), members[:FIT], None)
    np.testing.assert_allclose(other[: FIT + 1], whole[: FIT + 1], rtol=1e-6, atol=1e-9)


def test_released_refuses_what_does_not_fit() -> None:
    with pytest.raises(BadData, match="do not fit"):
        Released(images=np.zeros((2, 3, 4), dtype=np.float32), labels=np.zeros((2, 4)))


def test_views_are_mean_embeddings_and_a_class_without_images_says_nothing() -> None:
    pool = pool_of(tabular=False)
    images = pool.images.flatten(1).numpy()
    network = Network(kind="convnet", input_shape=(1, 4, 4), num_classes=CLASSES, width=4, depth=1)
    ours = Released(images=np.stack([images[::15], images[1::15]]), labels=np.stack([pool.labels.numpy()[::15]] * 2))
    theirs = Released(images=images[None, :3], labels=pool.labels.numpy()[None, :3])
    (view,) = released_views([ours, theirs], (1, 4, 4), network, [stream(0, "network", number) for number in range(4)])
    (again,) = released_views([ours], (1, 4, 4), network, [stream(0, "network", number) for number in range(4)])
    assert view.shape == (3, CLASSES, 4 * network.num_features)
    assert np.array_equal(view[:2], again)
    features = public_features(pool, network, [stream(0, "network", number) for number in range(4)])
    np.testing.assert_allclose(view[0, 1], features[::15][pool.labels[::15] == 1].mean(0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(view[2, 2], view[:2, 2].mean(0), rtol=1e-4, atol=1e-5)
