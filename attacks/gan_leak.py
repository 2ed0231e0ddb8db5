"""GAN-leak: Chen et al., GAN-Leaks, CCS 2020, arXiv:1909.03935; appendix E.4 of Dong et al., arXiv:2206.00240.

The adversary holds a released generator. It looks for the code whose image is nearest to a record x (of x's class,
whose label it knows): a generator that was trained on x reconstructs it better. The code is found by L-BFGS from
several starts, the best of which counts; all records of all generators go together, in parts of bounded memory
(attacks/lbfgs.py). The signal is −ln of the distance of the best image: the squared one of the pixels, or LPIPS.

Differs from Chen et al., who add up both distances and a penalty on the length of the code.

`calibration` turns signals into scores. "none" is the bare signal. "reference" takes off what generators without the
record reach on average (Eq. (11) of arXiv:1909.03935, with the fit runs that left it out as references). "lira" is the
likelihood ratio over shadow generators with and without the record.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from attacks.lbfgs import minimise
from attacks.lira import LiraConfig, score_lira
from attacks.perceptual import Perceptual, embed
from attacks.registry import Observations, attack
from condensers.fields import check_choice, check_numbers
from condensers.generator import Generators, generate
from condensers.randomness import draw_normal

CALIBRATIONS = ("lira", "reference", "none")
# Distances, and how many codes are held at a time, over all generators of a part: features of VGG16 are large.
CODES_AT_ONCE = {"l2": 1 << 14, "lpips": 64, "lpips-alexnet": 512}
BACKBONES = {"lpips": "vgg16", "lpips-alexnet": "alexnet"}
GENERATORS_AT_ONCE = 16
SMALLEST_DISTANCE = 1e-12


@dataclass(frozen=True, kw_only=True)
class GanLeakConfig:
    """`starts` codes for each record, each moved by L-BFGS with `steps` evaluations of the distance."""

    calibration: str = "lira"
    distance: str = "l2"
    starts: int = 3
    steps: int = 40

    def __post_init__(self) -> None:
        check_choice(self, "calibration", CALIBRATIONS)
        check_choice(self, "distance", tuple(CODES_AT_ONCE))
        check_numbers(self, at_least_one=("starts", "steps"), prefix="attack.")


@attack("gan-leak", config=GanLeakConfig, needs_fit_runs=True, levels=("generator",))
def score_gan_leak(observations: Observations, config: GanLeakConfig) -> np.ndarray:
    """How well a released generator reconstructs each record (Chen et al. 2020)."""
    if config.calibration == "lira":
        return score_lira(observations, LiraConfig())
    found = observations.test_signals.mean(2, dtype=np.float64)
    if config.calibration == "reference":
        without = (~observations.fit_members).astype(np.float64)
        usual = (without * observations.fit_signals.mean(2)).sum(0) / np.maximum(without.sum(0), 1)
        found = found - usual
    return found.astype(np.float32)


def reconstruct(
    generators: Generators,
    images: Tensor,
    labels: Tensor,
    config: GanLeakConfig,
    stream: np.random.Generator,
    metric: Perceptual | None = None,
) -> Tensor:
    """−ln of the distance of every record to the best image of every generator, `[runs, records]`.

    The starts of a record are the same for all generators, and do not depend on the other records of its part.
    `metric` is what LPIPS is computed with.
    """
    generator = generators.generator
    starts = draw_normal(stream, (len(images), config.starts, generator.latent), images.device)
    eye = torch.eye(generator.num_classes, device=images.device)
    signals = []
    runs = len(generators.parameters["first.weight"])
    for first in range(0, runs, GENERATORS_AT_ONCE):
        own = {name: value[first : first + GENERATORS_AT_ONCE] for name, value in generators.parameters.items()}
        part = Generators(generator=generator, parameters=own)
        size = max(1, CODES_AT_ONCE[config.distance] // (len(own["first.weight"]) * config.starts))
        pieces = [
            _distances(part, images[start : start + size], eye[labels[start : start + size]],
                       starts[start : start + size], config.steps, metric)
            for start in range(0, len(images), size)
        ]  # fmt: skip
        signals.append(-torch.cat(pieces, 1).clamp(min=SMALLEST_DISTANCE).log())
    return torch.cat(signals)


def _distances(
    part: Generators, images: Tensor, classes: Tensor, starts: Tensor, steps: int, metric: Perceptual | None
) -> Tensor:
    """The smallest distance of each record over its starts, `[runs, records]`."""
    runs, (records, count) = len(part.parameters["first.weight"]), starts.shape[:2]
    codes = starts.flatten(0, 1).expand(runs, -1, -1).flatten(0, 1)
    known = classes.repeat_interleave(count, 0).expand(runs, -1, -1)
    with torch.no_grad():
        wanted = [vectors.repeat_interleave(count, 0) for vectors in _vectors(images, metric)]

    def gaps(sought: Tensor) -> Tensor:
        made = generate(part.generator, part.parameters, torch.cat([sought.view(runs, records * count, -1), known], 2))
        found = _vectors(made.flatten(0, 1), metric)
        squares = [
            (own.view(runs, *goal.shape) - goal).square().sum(2) for own, goal in zip(found, wanted, strict=True)
        ]
        return torch.stack(squares).sum(0).flatten()

    _, best = minimise(gaps, codes, evaluations=steps)
    return best.view(runs, records, count).amin(2)


def _vectors(images: Tensor, metric: Perceptual | None) -> list[Tensor]:
    """Vectors of every image whose squared distances add up to the distance."""
    return [images.flatten(1)] if metric is None else embed(metric, images)
