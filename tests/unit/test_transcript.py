import numpy as np
import pytest
import torch
from scipy import stats

from audit.games.neighbours import DESIGNS, PLACES, designs_for, make_trials, neighbouring_pools
from audit.games.transcript.adversary import Eavesdropper, log_likelihood_ratio
from condensers.ledger import EVERYBODY, Event, FixedSize, Poisson
from condensers.mechanism import Release, Request
from condensers.samples import sensitivity


@pytest.mark.parametrize("design", DESIGNS)
def test_neighbouring_runs_differ_in_one_record(design):
    pool = neighbouring_pools((1, 8, 8), 3, seed=0, design=design)
    trials = make_trials(design, 12, 24, 3)
    members = trials.members(pool).numpy()
    assert not members[-1].any()
    assert np.bincount(trials.labels[trials.has_canary]).tolist() == [4, 4, 4]
    for label in range(3):
        rows = members[:-1][trials.labels == label]
        has = trials.has_canary[trials.labels == label]
        with_canary, without = np.unique(rows[has], axis=0), np.unique(rows[~has], axis=0)
        assert len(with_canary) == len(without) == 1
        changed = np.flatnonzero(with_canary[0] != without[0]).tolist()
        if design != "replaced":
            assert changed == [PLACES * label]
        else:  # one record leaves, another comes: minus the canary, of another class
            canary, antipode = PLACES * label, next(place for place in changed if place != PLACES * label)
            assert len(changed) == 2
            assert torch.equal(pool.images[antipode], -pool.images[canary])
            assert pool.labels[antipode] != pool.labels[canary]


def test_only_fixed_size_samples_are_audited_by_replacement():
    poisson = Event(group=EVERYBODY, sampling=Poisson(rate=0.5), noise_multiplier=1.0)
    fixed = Event(group=EVERYBODY, sampling=FixedSize(batch=1, population=2), noise_multiplier=1.0)
    assert "replaced" not in designs_for(((poisson, 1),))
    assert "replaced" in designs_for(((fixed, 1),))


@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("other", [None, "opposed", "replaced"])
def test_likelihood_ratio_against_densities(rate, other):
    """Two dimensions, where canary and other are not parallel."""
    noise, canary, second = 0.8, np.array([0.9, 0.1]), np.array([-0.3, 0.5])
    heard = np.random.default_rng(0).normal(size=(41, 2))

    def density(*shifts):
        return sum(weight * stats.multivariate_normal.pdf(heard, shift, noise**2) for weight, shift in shifts)

    absent = (1 - rate, np.zeros(2))
    match other:
        case None:
            inside, outside = density(absent, (rate, canary)), density((1.0, np.zeros(2)))
        case "replaced":
            inside, outside = density(absent, (rate, canary)), density(absent, (rate, second))
        case "opposed":
            both = ((1 - rate) ** 2, rate * (1 - rate), rate * (1 - rate), rate**2)
            inside = density(*zip(both, (np.zeros(2), canary, second, canary + second), strict=True))
            outside = density(absent, (rate, second))
    found = log_likelihood_ratio(
        torch.from_numpy(heard),
        torch.from_numpy(canary).expand(41, 2),
        None if other is None else torch.from_numpy(second).expand(41, 2),
        rate=rate,
        noise=noise,
        replaced=other == "replaced",
    )
    np.testing.assert_allclose(found.numpy(), np.log(inside) - np.log(outside), rtol=1e-9, atol=1e-9)


def heard_by(design, sums, *, per_run=False, sampling=None):
    """Scores of four runs, two classes, that all heard `sums` in one release of flat images."""
    pool = neighbouring_pools((4,), 2, seed=0)
    trials = make_trials(design, 0, 4, 2)
    request = Request(
        group=EVERYBODY,
        sampling=sampling or Poisson(rate=0.5),
        vectors=lambda images, labels: images.flatten(labels.ndim),
    )
    listener = Eavesdropper(pool, trials)
    listener(Release(index=0, requests=(request,), clip=2.0, noise_multiplier=0.5, per_run=per_run, sums=sums))
    return pool, listener


def test_energy_is_what_lies_beside_the_canary_against_theory():
    """In units of the noise, 0.5 · 2; a release along the canary, or of nothing at all, has none."""
    pool, _ = heard_by("ordinary", torch.zeros(5, 1, 4))
    canary = pool.images[0] / pool.images[0].norm()
    beside = torch.tensor([canary[1], -canary[0], 0.0, 0.0])
    sums = torch.stack([3 * canary + 5 * beside, 7 * canary, torch.zeros(4), 9 * beside, torch.zeros(4)]).unsqueeze(1)
    energy = heard_by("ordinary", sums)[1].scores()["energy"]
    np.testing.assert_allclose(energy[:2], [25 * float(beside.norm()) ** 2, 0.0], atol=1e-4)
    assert energy[2] == 0.0


def test_networks_of_each_run_are_heard_as_shared_ones_are():
    sums = torch.from_numpy(np.random.default_rng(1).normal(size=(5, 1, 4)).astype("float32"))
    for design in DESIGNS:
        shared, apart = (heard_by(design, sums, per_run=each)[1] for each in (False, True))
        for name, values in shared.scores().items():
            np.testing.assert_allclose(apart.scores()[name], values, rtol=1e-5, atol=1e-6)
        assert shared.shortest == pytest.approx(1.0)
        assert shared.typical == pytest.approx(1.0)


def test_noise_of_a_replacement_is_reckoned_at_twice_the_clip():
    sums = torch.ones(5, 1, 4)
    fixed = FixedSize(batch=1, population=2)
    assert sensitivity(fixed) == 2.0
    poisson, replaced = (heard_by("alone", sums, sampling=each)[1].scores()["energy"] for each in (None, fixed))
    np.testing.assert_allclose(replaced, poisson / 4, rtol=1e-6, atol=1e-9)
