"""Runs that agree in a class take its step once, and get what each would get by itself."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from condensers import dm
from condensers.distinct import Distinct
from condensers.dm import DmConfig, condense_dm
from condensers.pool import Pool
from condensers.randomness import Randomness, stream

SMALL = DmConfig(iterations=6, width=8, depth=2, batch=16)


def track(_: str, steps: int, __: dict[str, Tensor]) -> Iterator[int]:
    yield from range(steps)


def few_in_doubt(pool: Pool, runs: int) -> Tensor:
    included = np.ones((runs, pool.num_records), dtype=bool)
    doubtful = [records.start + place for records in pool.class_slices for place in (0, 5)]
    included[:, doubtful] = stream(0, "coins").random((runs, len(doubtful))) < 0.5
    return torch.from_numpy(included)


def test_groups_are_split_by_what_differs_and_never_joined() -> None:
    alike, order = np.ones((4, 2), dtype=np.float32), np.arange(2)

    def split(taken: list[list[int]]) -> None:
        distinct.split([(order, np.array(taken, dtype=np.float32)), (order, alike)])

    distinct = Distinct(torch.zeros(4, 2, 3), 2)
    assert distinct.largest == 1
    split([[1, 0], [0, 1], [1, 0], [0, 1]])
    assert distinct.groups[:, 0].tolist() in ([0, 1, 0, 1], [1, 0, 1, 0])
    assert distinct.groups[:, 1].tolist() == [0] * 4
    split([[1, 1], [1, 1], [1, 1], [0, 1]])
    assert len(set(distinct.groups[:, 0])) == 3
    assert distinct.groups[0, 0] == distinct.groups[2, 0]
    split([[1, 1]] * 4)
    assert len(set(distinct.groups[:, 0])) == 3


def test_first_images_are_compared_bit_by_bit() -> None:
    images = torch.zeros(3, 2, 4)
    images[1, 0, 2] = 1e-30
    images[2, 1, 0] = -0.0
    distinct = Distinct(images, 2)
    assert [len(first) for first in distinct.first] == [2, 2]


def test_runs_that_agree_are_computed_once_and_give_the_bytes_of_single_runs(digits: Pool, monkeypatch) -> None:
    runs, sizes = 12, []
    included = few_in_doubt(digits, runs)
    computed = dm.matching_gradient

    def counted(images: Tensor, *rest: object, **named: object) -> Tensor:
        sizes.append(len(images))
        return computed(images, *rest, **named)

    monkeypatch.setattr(dm, "matching_gradient", counted)
    together = condense_dm(digits, included, SMALL, randomness=Randomness(seed=1, runs=tuple(range(runs))), track=track)
    assert max(sizes) <= 4  # two records of a class in doubt have four combinations
    for run in range(runs):
        alone = condense_dm(
            digits, included[run : run + 1], SMALL, randomness=Randomness(seed=1, runs=(run,)), track=track
        )
        assert torch.allclose(together.images[run], alone.images[0], atol=1e-5)
    codes = included[:, digits.class_slices[3]][:, [0, 5]].numpy() @ [1, 2]
    for code in set(codes.tolist()):
        equal = together.images[codes == code, 3]
        assert torch.equal(equal, equal[:1].expand_as(equal))


def test_a_loop_that_goes_on_finds_its_groups_again(digits: Pool) -> None:
    runs = 8
    included, randomness = few_in_doubt(digits, runs), Randomness(seed=1, runs=tuple(range(runs)))
    kept: dict[str, Tensor] = {}

    def interrupted(_: str, steps: int, state: dict[str, Tensor]) -> Iterator[int]:
        for step in range(steps):
            if step == 3:
                kept.update({name: value.clone() for name, value in state.items()})
            yield step

    def resumed(_: str, steps: int, state: dict[str, Tensor]) -> Iterator[int]:
        for name, value in state.items():
            value.copy_(kept[name])
        yield from range(3, steps)

    whole = condense_dm(digits, included, SMALL, randomness=randomness, track=interrupted)
    again = condense_dm(digits, included, SMALL, randomness=randomness, track=resumed)
    assert torch.equal(whole.images, again.images)
