"""The published mechanisms and the class sizes they are accounted with."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from audit.accounting.class_sizes import CLASS_SIZES
from audit.accounting.events import branches, neighbouring_relation, num_releases, worst_sampling_rate
from audit.accounting.published import METHODS, Setting, actual_event, claimed_event, published_event
from audit.accounting.renyi import CONVERSIONS
from condensers.errors import BadConfig


def default_setting(method: str, dataset: str = "mnist", noise: float = 1.0) -> Setting:
    published = METHODS[method]
    steps = published.steps(published.images_per_class, published.target_epsilon)
    noise = published.noise_multiplier or noise
    return Setting(class_sizes=CLASS_SIZES[dataset], batch=published.batch, noise_multiplier=noise, steps=steps)


def test_class_sizes_add_up_against_the_papers() -> None:
    """Totals: PSG C.1 (MNIST, FashionMNIST), Dyn-PSG 4.1.1 (CIFAR-10, SVHN), CelebA's training split, Adult."""
    totals = {name: sum(sizes) for name, sizes in CLASS_SIZES.items()}
    expected = {"mnist": 60_000, "fashion-mnist": 60_000, "cifar10": 50_000, "svhn": 73_257, "celeba": 162_770}
    assert totals == {**expected, "digits": 1797, "adult": 32_561}
    assert {name: min(CLASS_SIZES[name]) for name in ("mnist", "celeba")} == {"mnist": 5421, "celeba": 68_261}


def test_class_sizes_of_digits_against_the_data() -> None:
    assert CLASS_SIZES["digits"] == tuple(np.bincount(load_digits().target))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_can_be_accounted(method: str) -> None:
    published = METHODS[method]
    assert published.status in ("proved", "unsound", "assumed")
    assert published.conversion in CONVERSIONS
    assert set(published.printed) | set(published.private_share) <= set(CLASS_SIZES)
    event = published_event(published.sampling, default_setting(method))
    assert len(branches(event)) == 1
    neighbouring_relation(event)


@pytest.mark.parametrize("method", ["ldpdc", "ndpdc", "dosser"])
def test_sampling_per_class_is_charged_at_the_smallest_class_against_paper(method: str) -> None:
    """q = max_c L/N_c (Theorems III.1 and III.2)."""
    event = published_event("poisson per class", default_setting(method))
    assert worst_sampling_rate(event) == 50 / 5421


def test_what_runs_instead_against_the_released_code() -> None:
    """GS-WGAN: 20 000 draws. DP-CGAN: σ = 1.12 on four tensors, accounted as σ·C. Dosser at ipc 1: 20 visits a sum."""
    shards, tensors = (
        actual_event(METHODS[name], default_setting(name), METHODS[name].images_per_class)
        for name in ("gs-wgan", "dp-cgan")
    )
    assert (num_releases(shards), num_releases(tensors)) == (20_000, 30_304)
    assert worst_sampling_rate(shards) == 1 / 1000
    assert branches(tensors)[0][0].event.event.noise_multiplier == 0.56
    claimed = claimed_event(METHODS["dp-cgan"], default_setting("dp-cgan"))
    assert branches(claimed)[0][0].event.event.noise_multiplier == pytest.approx(1.232)
    assert actual_event(METHODS["ldpdc"], default_setting("ldpdc"), 50) is None


def test_fresh_noise_of_dosser_is_accounted_at_one_image_per_class_only() -> None:
    """With augmentation and more images every visit adds the same noise, so that 10 000 releases are right."""
    dosser, setting = METHODS["dosser"], default_setting("dosser", noise=4.2969)
    assert all(actual_event(dosser, setting, images) is None for images in (2, 10, 50))
    fresh = actual_event(dosser, setting, 1)
    assert num_releases(fresh) == 10_000
    assert branches(fresh)[0][0].event.event.noise_multiplier == pytest.approx(4.2969 / 20**0.5)


@pytest.mark.parametrize("method", [name for name, published in METHODS.items() if published.printed])
def test_every_printed_epsilon_says_who_printed_it(method: str) -> None:
    assert METHODS[method].printed_by


@pytest.mark.parametrize("method", [name for name, published in METHODS.items() if published.actual])
def test_what_runs_instead_says_why_and_which_neighbours_attain_it(method: str) -> None:
    actual = METHODS[method].actual
    assert actual.reason
    assert actual.attained_by


def test_releases_against_paper() -> None:
    """LDPDC: M; NDPDC: I; PSG: R·T·K; DPMix: one mixture per image and class."""
    counted = {
        name: num_releases(published_event(METHODS[name].sampling, default_setting(name)))
        for name in ("ldpdc", "ndpdc", "psg", "dyn-psg", "dpmix", "dp-merf", "gs-wgan")
    }
    expected = {"ldpdc": 50, "ndpdc": 10_000, "psg": 100_000, "dyn-psg": 100_000, "dpmix": 500}
    assert counted == {**expected, "dp-merf": 1, "gs-wgan": 640_000}
    assert [METHODS["psg"].steps(images, 1.0) for images in (1, 10, 20, 50)] == [2000, 20_000, 40_000, 100_000]


def test_settings_no_paper_gives_are_refused() -> None:
    with pytest.raises(BadConfig, match="--ipc 7"):
        METHODS["psg"].steps(7, 1.0)
    small = Setting(class_sizes=(40, 60), batch=50, noise_multiplier=1.0, steps=1)
    with pytest.raises(BadConfig, match="between 1 and 40, the size of the smallest class"):
        published_event("poisson per class", small)
    assert worst_sampling_rate(published_event("poisson", small)) == 0.5
