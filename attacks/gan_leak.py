"""GAN-leak: Chen et al., GAN-Leaks, CCS 2020, arXiv:1909.03935; appendix E.4 of Dong et al., arXiv:2206.00240.

The adversary holds a released generator. It looks for the code whose image is nearest to a record x (of x's class,
whose label it knows): a generator that was trained on x reconstructs it better. The code is found by gradient descent
from several starts, the best of which counts; all records of all generators go together, in parts of bounded memory.

Differs from Chen et al., who use L-BFGS with a learned perceptual distance: Adam on the squared distance, since L-BFGS
has a line search for each record and does not batch. The signal is −ln of the squared distance of the best image.

`calibration` turns signals into scores. "none" is the bare signal. "reference" takes off what generators without the
record reach on average (Eq. (11) of arXiv:1909.03935, with the fit runs that left it out as references). "lira" is the
likelihood ratio over shadow generators with and without the record.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from attacks.lira import LiraConfig, score_lira
from attacks.registry import Observations, attack
from condensers.fields import check_choice, check_numbers
from condensers.generator import Generators, generate
from condensers.randomness import draw_normal

CALIBRATIONS = ("lira", "reference", "none")
CODES_AT_ONCE = 1 << 14  # over all generators of a part
GENERATORS_AT_ONCE = 16
FIRST_DECAY, SECOND_DECAY, SMALLEST = 0.9, 0.999, 1e-8
SMALLEST_DISTANCE = 1e-12


@dataclass(frozen=True, kw_only=True)
class GanLeakConfig:
    """`starts` codes for each record, each moved for `steps` steps of Adam."""

    calibration: str = "lira"
    starts: int = 3
    steps: int = 40
    learning_rate: float = 0.1

    def __post_init__(self) -> None:
        check_choice(self, "calibration", CALIBRATIONS)
        check_numbers(self, at_least_one=("starts", "steps"), positive=("learning_rate",), prefix="attack.")


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
    generators: Generators, images: Tensor, labels: Tensor, config: GanLeakConfig, stream: np.random.Generator
) -> Tensor:
    """−ln of the squared distance of every record to the best image of every generator, `[runs, records]`.

    The starts of a record are the same for all generators, and do not depend on the other records of its part.
    """
    generator = generators.generator
    starts = draw_normal(stream, (len(images), config.starts, generator.latent), images.device)
    eye = torch.eye(generator.num_classes, device=images.device)
    signals = []
    runs = len(generators.parameters["first.bias"])
    for first in range(0, runs, GENERATORS_AT_ONCE):
        own = {name: value[first : first + GENERATORS_AT_ONCE] for name, value in generators.parameters.items()}
        part = Generators(generator=generator, parameters=own)
        size = max(1, CODES_AT_ONCE // (len(own["first.bias"]) * config.starts))
        pieces = [
            _distances(part, images[start : start + size], eye[labels[start : start + size]],
                       starts[start : start + size], config)
            for start in range(0, len(images), size)
        ]  # fmt: skip
        signals.append(-torch.cat(pieces, 1).clamp(min=SMALLEST_DISTANCE).log())
    return torch.cat(signals)


def _distances(part: Generators, images: Tensor, classes: Tensor, starts: Tensor, config: GanLeakConfig) -> Tensor:
    """The smallest squared distance of each record over its starts and steps, `[runs, records]`."""
    runs, (records, count) = len(part.parameters["first.bias"]), starts.shape[:2]
    codes = starts.flatten(0, 1).expand(runs, -1, -1).clone()
    known = classes.repeat_interleave(count, 0).expand(runs, -1, -1)
    wanted = images.flatten(1).repeat_interleave(count, 0).unsqueeze(0)
    first, second = torch.zeros_like(codes), torch.zeros_like(codes)
    best = torch.full((runs, records * count), torch.inf, device=images.device)
    for step in range(1, config.steps + 1):
        leaf = codes.detach().requires_grad_()
        made = generate(part.generator, part.parameters, torch.cat([leaf, known], 2)).flatten(2)
        gaps = (made - wanted).square().sum(2)
        best = torch.minimum(best, gaps.detach())
        (gradient,) = torch.autograd.grad(gaps.sum(), leaf)
        first = FIRST_DECAY * first + (1 - FIRST_DECAY) * gradient
        second = SECOND_DECAY * second + (1 - SECOND_DECAY) * gradient.square()
        spread = (second / (1 - SECOND_DECAY**step)).sqrt() + SMALLEST
        codes = codes - config.learning_rate * first / (1 - FIRST_DECAY**step) / spread
    with torch.no_grad():
        made = generate(part.generator, part.parameters, torch.cat([codes, known], 2)).flatten(2)
        best = torch.minimum(best, (made - wanted).square().sum(2))
    return best.view(runs, records, count).amin(2)
