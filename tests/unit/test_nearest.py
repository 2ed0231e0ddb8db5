import subprocess
import sys

import numpy as np
import pytest
import torch

from attacks.nearest import pairwise_euclidean, take_distinct, visual_matches
from condensers.errors import BadData
from condensers.pool import Pool


def make_sets(pool: Pool, runs: int, per_class: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Blends of two records of a class each."""
    generator = np.random.default_rng(seed)
    labels = np.tile(np.repeat(np.arange(pool.num_classes), per_class), (runs, 1))
    starts = np.array([place.start for place in pool.class_slices])[labels]
    first, second = (torch.from_numpy(starts + generator.integers(0, 24, labels.shape)) for _ in range(2))
    return 0.7 * pool.images[first] + 0.3 * pool.images[second], torch.from_numpy(labels)


def test_matches_against_naive(small_pool: Pool) -> None:
    images, labels = make_sets(small_pool, runs=3, per_class=9, seed=0)
    found = visual_matches(images, labels, small_pool, pairwise_euclidean)
    for run in range(3):
        taken: set[int] = set()
        for image in range(27):
            same = [r for r in range(72) if small_pool.labels[r] == labels[run, image]]
            distance = {r: float((small_pool.images[r] - images[run, image]).double().norm()) for r in same}
            order = sorted(same, key=lambda r: distance[r])
            assert found.records[run, image].tolist() == order[:3]
            np.testing.assert_allclose(found.distances[run, image], [distance[r] for r in order[:3]], atol=1e-5)
            guess = next(r for r in order if r not in taken)
            assert found.guesses[run, image] == guess
            taken.add(guess)
        for record in range(72):
            mine = images[run][labels[run] == small_pool.labels[record]]
            nearest = (mine - small_pool.images[record]).double().flatten(1).norm(dim=1).min()
            assert found.nearness[run, record] == pytest.approx(-float(nearest), abs=1e-5)
    assert found.num_displaced > 0


def test_equal_images_guess_distinct_records(small_pool: Pool) -> None:
    images = small_pool.images[:1].repeat(1, 30, 1, 1, 1).reshape(1, 30, 3, 12, 12)
    found = visual_matches(images, torch.zeros(1, 30, dtype=torch.int64), small_pool, pairwise_euclidean)
    assert found.guesses[0, 0] == 0
    assert sorted(found.guesses[0, :24]) == list(range(24))
    assert (found.guesses[0, 24:] == -1).all()  # more images than the class has records: no guess is left
    assert (found.nearness[0, 24:] == -np.inf).all()


def test_soft_labels_count_by_their_largest(small_pool: Pool) -> None:
    images, labels = make_sets(small_pool, runs=2, per_class=2, seed=1)
    soft = torch.nn.functional.one_hot(labels, 3).float() * 0.6 + 0.1
    hard = visual_matches(images, labels, small_pool, pairwise_euclidean)
    np.testing.assert_array_equal(visual_matches(images, soft, small_pool, pairwise_euclidean).guesses, hard.guesses)


def test_taking_against_naive() -> None:
    table = np.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0], [0.0, 5.0, 9.0], [0.0, 0.0, 0.0]])
    assert take_distinct(table).tolist() == [0, 2, 1, -1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda images, labels: (images[..., :5], labels), "shape"),
        (lambda images, labels: (images, labels[:, :2]), "labels"),
        (lambda images, labels: (images, labels + 1), "classes 0…2"),
        (lambda images, labels: (images * float("nan"), labels), "not finite"),
    ],
    ids=["shape", "count", "classes", "nan"],
)
def test_sets_that_do_not_fit_are_refused(small_pool: Pool, change, said: str) -> None:
    images, labels = make_sets(small_pool, runs=1, per_class=1, seed=2)
    with pytest.raises(BadData, match=said):
        visual_matches(*change(images, labels), small_pool, pairwise_euclidean)


def test_euclidean_against_differences_over_several_blocks(monkeypatch) -> None:
    generator = np.random.default_rng(3)
    images, records = (torch.from_numpy(generator.normal(size=(count, 3, 4, 4)).astype("f4")) for count in (6, 50))
    records[7] = images[2]
    monkeypatch.setattr("attacks.nearest._RECORDS_AT_ONCE", 16)
    expected = (images[:, None].double() - records[None].double()).flatten(2).norm(dim=2)
    np.testing.assert_allclose(pairwise_euclidean(images, records), expected, atol=1e-6)


MEASURE = """
import torch
def peak():
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
from attacks.nearest import pairwise_euclidean
torch.set_num_threads(1)
images, records = torch.ones(300, 1, 28, 28), torch.zeros(20000, 1, 28, 28)
pairwise_euclidean(images[:2], records[:2])
before = peak()
pairwise_euclidean(images, records)
print(peak() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
def test_memory_is_that_of_the_answer_and_a_block() -> None:
    """300 × 20 000 answers take 46 MiB, a block of 4096 records 25 MiB, the records, first touched here, 60 MiB; with
    what a block is computed in that is below 256 MiB. All differences would take 17 GiB."""
    said = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True)
    assert int(said.stdout) / 1024 < 256
