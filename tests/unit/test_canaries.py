import numpy as np
import pytest
import torch

from attacks.canaries import KINDS, _spread, canary_kinds, parse_canaries, plant_canaries, spell_canaries
from condensers.errors import BadConfig
from condensers.pool import Pool
from condensers.randomness import stream

COUNTS = {"mislabelled": 7, "outlier": 6, "blank": 5, "crafted": 8}


def test_canaries_are_spelt_one_way() -> None:
    assert spell_canaries(parse_canaries(" crafted:50, mislabelled:7,")) == "mislabelled:7,crafted:50"
    assert parse_canaries("") == {}


@pytest.mark.parametrize(
    "text", ["evil:5", "blank", "blank:0", "blank:-1", "blank:x", "blank:99999", "blank:1,blank:2"]
)
def test_canaries_that_cannot_be_planted_are_refused_in_one_line(text: str) -> None:
    with pytest.raises(BadConfig, match=r"^--canaries [^\n]+$"):
        parse_canaries(text)


def test_planted_pool_against_its_parts(small_pool: Pool) -> None:
    """Ordinary records stay as they were and in order; each canary is found by its kind, and is what it says."""
    pool = plant_canaries(small_pool, COUNTS, seed=3)
    kinds = canary_kinds(pool.labels.numpy(), pool.num_classes, COUNTS)
    assert np.bincount(kinds).tolist() == [72, *COUNTS.values()]
    ordinary = torch.from_numpy(kinds == 0)
    assert torch.equal(pool.images[ordinary], small_pool.images)
    assert torch.equal(pool.labels[ordinary], small_pool.labels)
    assert float(pool.images.abs().max()) <= 1
    for image, label, kind in zip(pool.images, pool.labels, kinds, strict=True):
        match = (small_pool.images == image).flatten(1).all(1)
        if kind == 1:
            assert match.any()
            assert not (match & (small_pool.labels == label)).any()
        if kind > 1:
            assert not match.any()
        if kind == 3:
            assert len(torch.unique(image)) == 1
        if kind == 4:
            assert bool((image.abs() == 1).all())
    again = plant_canaries(small_pool, COUNTS, seed=3)
    assert torch.equal(again.images, pool.images)
    assert not torch.equal(plant_canaries(small_pool, COUNTS, seed=4).images, pool.images)
    crafted = pool.images[torch.from_numpy(kinds == 1 + KINDS.index("crafted"))].flatten(1)
    assert len(torch.unique(crafted, dim=0)) == COUNTS["crafted"]


def test_planting_nothing_gives_the_pool_itself(small_pool: Pool) -> None:
    assert plant_canaries(small_pool, {}, seed=0) is small_pool


def test_tables_take_canaries_within_their_columns() -> None:
    values = torch.from_numpy(stream(2, "table").uniform(3, 9, (40, 5)).astype(np.float32))
    pool = plant_canaries(
        Pool(name="t", images=values, labels=torch.arange(2).repeat_interleave(20), num_classes=2), COUNTS, seed=0
    )
    assert pool.num_records == 40 + sum(COUNTS.values())
    assert bool((pool.images >= values.amin(0) - 1e-5).all())
    assert bool((pool.images <= values.amax(0) + 1e-5).all())


def test_greedy_choice_against_the_primal_form() -> None:
    generator = stream(1, "spread")
    own, candidates = (torch.from_numpy(generator.standard_normal((n, 5))) for n in (12, 30))
    scatter = own.T @ own + 0.05 * float(own.square().sum(1).mean()) * torch.eye(5, dtype=torch.float64)
    expected: list[int] = []
    for _ in range(4):
        distances = ((candidates @ torch.linalg.inv(scatter)) * candidates).sum(1)
        distances[expected] = -1
        expected.append(int(distances.argmax()))
        scatter = scatter + torch.outer(candidates[expected[-1]], candidates[expected[-1]])
    assert _spread(own, candidates, 4) == expected
