"""DC's augmentation against plain loops over images that follow the official `augment` line by line."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.ndimage import rotate

from attacks import dc_augmentation
from attacks.dc_augmentation import _rotate, _shift, _stretch, augment_each
from attacks.victims import _augmented
from condensers.randomness import Randomness


def smooth_images(num: int) -> torch.Tensor:
    coarse = torch.from_numpy(np.random.default_rng(0).normal(size=(num, 2, 7, 7)).astype(np.float32))
    return F.interpolate(coarse, 28, mode="bicubic")


@pytest.mark.parametrize("shift", [(-4, 3), (0, 0), (2, -1)])
def test_shifts_against_a_padded_image(shift: tuple[int, int]) -> None:
    images = smooth_images(1)
    row, column = (each + 4 for each in shift)
    padded = F.pad(images, (4, 4, 4, 4))[:, :, row : row + 28, column : column + 28]
    assert torch.equal(_shift(images, torch.tensor(shift).unsqueeze(1)), padded)


@pytest.mark.parametrize("sizes", [(22, 33), (28, 28), (33, 31), (23, 25), (33, 22)])
def test_stretching_against_interpolate(sizes: tuple[int, int]) -> None:
    images = smooth_images(1)
    height, width = sizes
    largest = max(height, width, 28)
    canvas = torch.zeros(2, largest, largest)
    row, column = int((largest - height) / 2), int((largest - width) / 2)
    canvas[:, row : row + height, column : column + width] = F.interpolate(images, [height, width])[0]
    start = int((largest - 28) / 2)
    expected = canvas[:, start : start + 28, start : start + 28]
    assert torch.equal(_stretch(images, torch.tensor(sizes).unsqueeze(1))[0], expected)


@pytest.mark.parametrize("degrees", [-45, -20, 0, 10, 44])
def test_rotations_against_scipy(degrees: int) -> None:
    """Cubic convolution is not a spline: pixels inside agree to a few hundredths of the deviation."""
    images = smooth_images(1)
    expected = rotate(images[0].numpy(), angle=degrees, axes=(-2, -1), reshape=False)
    found = _rotate(images, torch.tensor([degrees]))[0].numpy()
    inside = np.hypot(*(np.indices((28, 28)) - 13.5)) < 11
    assert np.abs(found - expected)[:, inside].max() < 0.1 * images.std().item()


def test_every_image_has_an_operation_of_its_own() -> None:
    images = smooth_images(300) + 5.0
    before = images.clone()
    found = augment_each(images, np.random.default_rng(1))
    assert torch.equal(images, before)
    assert torch.equal(found, augment_each(images, np.random.default_rng(1)))
    zeros = (found == 0).flatten(1).any(1)  # around stretched images; elsewhere the mean, about 5, fills
    assert 20 < int(zeros.sum()) < 120
    assert found[~zeros].min() > 0
    assert not torch.equal(found, augment_each(images, np.random.default_rng(2)))
    assert augment_each(images[:1], np.random.default_rng(3)).shape == (1, 2, 28, 28), "operations without an image"


def test_victims_see_it_keyed_by_run_and_epoch() -> None:
    images = smooth_images(12).view(2, 6, 2, 28, 28)

    def seen(runs: tuple[int, int], epoch: int) -> torch.Tensor:
        return _augmented(images, dc_augmentation.NAME, Randomness(seed=0, runs=runs), epoch, 0)

    assert torch.equal(seen((0, 1), 0), seen((0, 1), 0))
    assert torch.equal(seen((0, 1), 0)[0], seen((0, 7), 0)[0]), "no matter which runs are beside it"
    assert not torch.equal(seen((0, 1), 0), seen((0, 1), 1))
