"""Propositions 4.3, 4.4 and Eq. (35) of arXiv:2206.00240, tested on `condense_dm` itself."""

import math

import numpy as np
import pytest
import torch

from audit.games.theory.condense import class_means, condense_watched, watch_dm
from audit.games.theory.examine import extractors_and_sizes, gibbs_counterexample, summarise_theory
from audit.specs.theory import Theory
from condensers.dm import DmConfig
from condensers.errors import BadConfig
from condensers.pool import Pool
from condensers.randomness import stream
from reports.records.kinds import load_record
from reports.records.schema import dump

IPC = 3


@pytest.fixture(scope="module")
def pool():
    """Three classes of 10 images in 36 dimensions, of which a class spans at most 10 (Assumption 4.1)."""
    images = stream(0, "theory pool").uniform(-1, 1, (30, 1, 6, 6)).astype(np.float32)
    return Pool(
        name="spanned", images=torch.from_numpy(images), labels=torch.arange(3).repeat_interleave(10), num_classes=3
    )


def linear_dm(pool, included, start, iterations=150):
    config = DmConfig(
        ipc=IPC, iterations=iterations, batch=100, learning_rate=0.3, extractor="linear", width=24, augmentation="none"
    )
    return watch_dm(pool, included, config, start, 0)


def flat_by_class(images):
    return images.double().view(3, -1, 36)


@pytest.mark.parametrize("init", ["random", "real"])
def test_linear_extractor_against_the_closed_form(pool, init):
    """Eq. (12) for real images, Eq. (31) for noise; the extractor is narrower than the data (k < d)."""
    everybody = torch.ones(1, 30, dtype=torch.bool)
    noise = torch.from_numpy(stream(0, "start").standard_normal((9, 1, 6, 6)).astype(np.float32))
    records = torch.cat([pool.images[part][:IPC] for part in pool.class_slices])
    start = noise if init == "random" else records
    last, distances = linear_dm(pool, everybody, start[None])
    means, first = class_means(pool, everybody[0]), flat_by_class(start)
    expected = first + (means - first.mean(1)).unsqueeze(1)
    torch.testing.assert_close(flat_by_class(last[0]), expected, rtol=0, atol=2e-5)
    assert distances.shape == (1, 151)
    assert float(distances[0, 0]) == pytest.approx(float((means - first.mean(1)).norm(dim=1).mean()))
    assert float(distances[0, -1]) < 1e-5 < float(distances[0, 1])  # Proposition 4.3, Eq. (10)
    for label, part in enumerate(pool.class_slices):
        basis = torch.linalg.svd(pool.images[part].double().flatten(1), full_matrices=False)[2]
        outside = torch.eye(36, dtype=torch.float64) - basis.T @ basis
        left = flat_by_class(last[0])[label] @ outside
        torch.testing.assert_close(left.sum(0), torch.zeros(36, dtype=torch.float64), rtol=0, atol=1e-4)  # Eq. (11)
        if init == "real":
            assert float(left.abs().max()) < 1e-4  # Eq. (12): s* stays in span(T)


def test_noise_of_zero_mean_against_equation_13(pool):
    """Eq. (13) as printed: what lies outside span(T) stays, what lies inside moves by T̄."""
    noise = stream(0, "zero mean").standard_normal((3, IPC, 36))
    start = torch.from_numpy((noise - noise.mean(1, keepdims=True)).astype(np.float32)).view(9, 1, 6, 6)
    everybody = torch.ones(1, 30, dtype=torch.bool)
    last, _ = linear_dm(pool, everybody, start[None])
    expected = flat_by_class(start) + class_means(pool, everybody[0]).unsqueeze(1)
    torch.testing.assert_close(flat_by_class(last[0]), expected, rtol=0, atol=2e-5)


def test_leaving_a_record_out_against_equation_35(pool):
    included = torch.ones(2, 30, dtype=torch.bool)
    included[1, [4, 15, 29]] = False
    start = torch.from_numpy(stream(0, "start").standard_normal((9, 1, 6, 6)).astype(np.float32))
    last, _ = linear_dm(pool, included, start.repeat(2, 1, 1, 1, 1).view(2, 9, 1, 6, 6))
    shifts = (flat_by_class(last[0]) - flat_by_class(last[1])).norm(dim=-1)
    flat = pool.images.double().flatten(1)
    for label, record in enumerate((4, 15, 29)):
        part = pool.class_slices[label]
        others = flat[part][included[1, part]].mean(0)
        exact = (others - flat[record]).norm() / 10
        torch.testing.assert_close(shifts[label], exact.expand(IPC), rtol=1e-4, atol=1e-6)
        assert float(exact) <= 2 * float(flat[part].norm(dim=1).max()) / 10


def test_report_on_a_small_pool_against_theory(pool):
    spec = Theory(ipc=(2,), iterations=80)
    kinds = extractors_and_sizes(pool, spec)
    report = summarise_theory(pool, spec, kinds, [condense_watched(pool, spec, *kind) for kind in kinds])
    assert report.ranks == (10, 10, 10)
    linear = [entry for entry in report.condensations if entry.extractor == "linear"]
    assert {(entry.extractor, entry.init) for entry in report.condensations} == {
        (extractor, init) for extractor in ("linear", "linear-relu", "convnet") for init in ("random", "real")
    }
    for entry in linear:
        assert entry.closed_form_error < 1e-5
        assert entry.eq13_error > 0.05  # S̄₀ is not 0 here, as (13) assumes
        for one in entry.leave_one_out:
            assert one.largest_shift == pytest.approx(one.closed_form, rel=1e-3)
            assert one.worst_ratio < 1
            assert one.recovery_error < 1e-4
    far, near = (
        [one.closed_form for entry in linear for one in entry.leave_one_out if one.left_out == name]
        for name in ("farthest", "typical")
    )
    assert min(far) > max(near)
    assert load_record(dump(report)) == report
    assert len(report.condensations[0].distances) == 81


def test_gibbs_counterexample_against_its_closed_form():
    """K_S = (1 − e^{−m})/m, and K_S′ = (2 − e^{−mδ} − e^{−m(1 − δ)})/m."""
    m, delta = 20, 0.002
    found = gibbs_counterexample(num_images=m, shift=delta)
    before = (1 - math.exp(-m)) / m
    after = (2 - math.exp(-m * delta) - math.exp(-m * (1 - delta))) / m
    assert found.sup_log_ratio == pytest.approx(m * delta + math.log(after / before), rel=1e-5)
    assert found.right_side_of_eq33 == pytest.approx(m * delta + after - before, rel=1e-5)
    assert found.right_side_of_eq33 < found.sup_log_ratio <= found.corrected_bound
    assert 0 < found.kl_divergence < found.sup_log_ratio / 10


@pytest.mark.parametrize("change", [{"ipc": ()}, {"ipc": (0,)}, {"iterations": 0}], ids=str)
def test_impossible_settings_are_refused(change):
    with pytest.raises(BadConfig):
        Theory(**change)


def test_too_few_records_are_refused(pool):
    with pytest.raises(BadConfig, match="--ipc 9: needs 11 records of every class, the smallest has 10"):
        extractors_and_sizes(pool, Theory(ipc=(9,)))
