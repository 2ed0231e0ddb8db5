import math

import numpy as np
import pytest
import torch

from condensers.augment import OPERATIONS, Augmentation, augment, draw_augmentation, parse_strategy
from condensers.errors import BadConfig
from condensers.randomness import stream


def images_of(count=4, size=8):
    return torch.from_numpy(stream(0, "images").standard_normal((count, 3, size, size), dtype="float32"))


def numbers(*values):
    return np.array([values], dtype=np.float32)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_siamese_numbers_treat_every_image_alike(operation):
    images = images_of()
    drawn = draw_augmentation((operation,), stream(1, operation))
    together = augment(images, drawn)
    alone = torch.cat([augment(images[i : i + 1], drawn) for i in range(len(images))])
    torch.testing.assert_close(together, alone)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_gradient_against_finite_differences(operation):
    drawn = draw_augmentation((operation,), stream(2, operation))
    images = images_of(1, 6).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: augment(x, drawn), images)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_input_is_not_written_to(operation):
    images = images_of()
    before = images.clone()
    augment(images, draw_augmentation((operation,), stream(3, operation)))
    assert torch.equal(images, before)


def test_crop_against_naive_shift():
    images = images_of(1)
    # 8 px × .125 = 1 px of reach: numbers 0 and .99 shift by −1 and +1.
    shifted = augment(images, Augmentation("crop", numbers(0.0, 0.99, 0.0)))
    expected = torch.zeros_like(images)
    expected[:, :, 1:, :-1] = images[:, :, :-1, 1:]
    assert torch.equal(shifted, expected)


def test_cutout_blackens_a_square_of_half_the_side():
    cut = augment(torch.ones(1, 1, 8, 8), Augmentation("cutout", numbers(0.5, 0.5, 0.0)))
    assert (cut == 0).sum() == 16
    at_the_corner = augment(torch.ones(1, 1, 8, 8), Augmentation("cutout", numbers(0.0, 0.0, 0.0)))
    assert (at_the_corner == 0).sum() == 4


def test_no_rotation_and_no_stretch_change_nothing():
    images = images_of()
    torch.testing.assert_close(augment(images, Augmentation("rotate", numbers(0.5, 0, 0))), images, atol=1e-5, rtol=0)
    one = (1 - 1 / 1.2) / (1.2 - 1 / 1.2)
    torch.testing.assert_close(augment(images, Augmentation("scale", numbers(one, one, 0))), images, atol=1e-5, rtol=0)


def test_operations_are_drawn_uniformly():
    operations = parse_strategy("color_crop_cutout")
    drawn = [draw_augmentation(operations, stream(0, "draw", i)).operation for i in range(3000)]
    for operation in operations:
        assert abs(drawn.count(operation) / 3000 - 1 / 3) < 4 * math.sqrt(2 / 9 / 3000)


def test_unknown_operations_are_refused():
    assert parse_strategy("none") == ()
    with pytest.raises(BadConfig, match="'blur' is not one of"):
        parse_strategy("color_blur")
    with pytest.raises(BadConfig, match=r"\(or none or dc\)"):
        parse_strategy("color_blur", others=("dc",))
