"""Kernel inducing points (Nguyen et al., arXiv:2011.00050, 2107.13034; Eq. (3) of Dong et al., arXiv:2206.00240).

The synthetic images are moved by Adam so that kernel ridge regression on them, under the neural tangent kernel of an
infinitely wide network, predicts the labels of the records. There is no network to draw: given where the images start,
a run is a function of its members.

Differs from the official code: images start from noise unless told otherwise; minibatches are those of
`condensers.dm`, one public permutation of a class in which every run takes the first of its members. Differs from
Dong et al., who take the convolutional kernel with siamese augmentation: that is kernel=conv and siamese=…; the default
is the official fully connected kernel, which has one number per pair of images where theirs has pixels².

With `zca` the images live in the whitened space of their run's members and are brought back to the pool's scale at the
end (condensers/whitening.py), so that victims can train on them beside real records.

A class without a member in a run has no targets there; its images still move, since they take part in the regression
onto the other classes. The images of a run without members stay as they started.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from condensers.augment import Augmentation, augment, draw_augmentation, parse_strategy
from condensers.dm import class_minibatch
from condensers.errors import BadConfig
from condensers.fields import check_choice, check_numbers
from condensers.initial import balanced_labels, initial_noise, initial_records, validate_size
from condensers.normalisation import NORMALISATIONS
from condensers.ntk import Kernel, check_blocks
from condensers.pool import CondensedBatch, Pool
from condensers.randomness import Randomness, to_device
from condensers.registry import Track, condenser
from condensers.ridge import Targets, ridge_gradient
from condensers.whitening import Whitening, centre_and_scale, fit_whitening

KERNELS = ("fc", "conv")
FIRST_DECAY, SECOND_DECAY, ADAM_EPSILON = 0.9, 0.999, 1e-8
MOST_BYTES_KEPT = 1 << 28


@dataclass(frozen=True, kw_only=True)
class KipConfig:
    """Defaults are the official ones, except that images start from noise.

    `hidden_layers` belongs to kernel=fc, `blocks` to kernel=conv. `batch` is the number of records that a step
    regresses onto, the same of every class.
    """

    ipc: int = 1
    init: str = "random"
    iterations: int = 1000
    batch: int = 5000
    learning_rate: float = 0.04
    ridge: float = 1e-6
    kernel: str = "fc"
    hidden_layers: int = 1
    blocks: int = 3
    zca: bool = False
    zca_regularisation: float = 0.1
    siamese: str = "none"
    normalisation: str = "half"

    def __post_init__(self) -> None:
        validate_size(ipc=self.ipc, init=self.init)
        parse_strategy(self.siamese)
        check_choice(self, "kernel", KERNELS)
        check_choice(self, "normalisation", NORMALISATIONS)
        check_numbers(
            self,
            at_least_one=("iterations", "batch", "hidden_layers", "blocks"),
            positive=("learning_rate", "ridge", "zca_regularisation"),
        )


@condenser("kip", config=KipConfig, presets={"quick": {"iterations": 300}})
def condense_kip(
    pool: Pool, included: Tensor, config: KipConfig, *, randomness: Randomness, track: Track
) -> CondensedBatch:
    """Kernel inducing points: ridge regression under the neural tangent kernel."""
    _check(pool, config)
    device, runs, shape = pool.images.device, len(randomness.runs), tuple(pool.images.shape[1:])
    space = _prepare(pool, included, config)
    if config.init == "real":
        images, initial = initial_records(pool, included, config.ipc, randomness)
        seen = torch.stack([space.records_of(run, initial[run].clamp(min=0)) for run in range(runs)])
        started = (initial >= 0).view(*initial.shape, *[1] * len(shape))
        images = torch.where(started, seen.view(images.shape), images.double())
    else:
        images, initial = initial_noise(pool.num_classes * config.ipc, shape, runs, device, randomness)
        images = images.double()
    kernel, own_labels = kernel_of(config), space.labels.repeat_interleave(config.ipc, 0)
    operations, members = parse_strategy(config.siamese), included.cpu().numpy()
    kept = _Kept(allowed=not operations and _all_fit(pool, members, config), targets={})
    state = {"images": images, "first moment": torch.zeros_like(images), "second moment": torch.zeros_like(images)}
    for step in track("condense", config.iterations, state):
        drawn = draw_augmentation(operations, randomness.public("augmentation", step)) if operations else None
        targets = _targets(pool, members, space, kernel, kept, drawn, config, randomness, step)
        gradient = _gradient(kernel, state["images"], own_labels, targets, drawn, config.ridge)
        _adam_step(state, gradient, config.learning_rate, step)
    return CondensedBatch(
        images=space.back_to_the_pool(state["images"]).float(),
        labels=balanced_labels(pool.num_classes, config.ipc, runs, device),
        initial_records=initial,
    )


def kernel_of(config: KipConfig) -> Kernel:
    return Kernel(kind=config.kernel, depth=config.blocks if config.kernel == "conv" else config.hidden_layers)


def _check(pool: Pool, config: KipConfig) -> None:
    if pool.images.device.type == "mps":
        raise BadConfig("--device mps: kip computes in float64, which MPS does not support; use --device cpu")
    if config.batch < pool.num_classes:
        raise BadConfig(f"batch={config.batch}: must be at least {pool.num_classes}, one record of every class")
    if config.kernel == "conv":
        check_blocks(tuple(pool.images.shape[1:]), config.blocks)
    if config.siamese != "none" and pool.images.ndim != 4:
        raise BadConfig(f"siamese={config.siamese}: tables cannot be augmented; use siamese=none")


@dataclass(frozen=True, kw_only=True)
class _Space:
    """Where the images live: the pool's own space or, with ZCA, that of each run's members. Records are flat."""

    records: Tensor
    labels: Tensor
    whitenings: list[Whitening]

    def records_of(self, run: int, index: Tensor) -> Tensor:
        """Records as run number `run` of the group sees them."""
        chosen = self.records[index].double()
        return chosen @ self.whitenings[run].matrix if self.whitenings else chosen

    def back_to_the_pool(self, images: Tensor) -> Tensor:
        if not self.whitenings:
            return images
        undone = [fitted.undo(own) for fitted, own in zip(self.whitenings, images.flatten(2), strict=True)]
        return torch.stack(undone).view_as(images)


def _prepare(pool: Pool, included: Tensor, config: KipConfig) -> _Space:
    # One-hot minus 1/C, as the official code centres them.
    labels = torch.eye(pool.num_classes, dtype=torch.float64, device=pool.images.device) - 1 / pool.num_classes
    if not config.zca:
        return _Space(records=pool.images.flatten(1), labels=labels, whitenings=[])
    records = pool.images.double().flatten(1)
    whitenings = [fit_whitening(records[row], regularisation=config.zca_regularisation) for row in included]
    return _Space(records=centre_and_scale(records)[0], labels=labels, whitenings=whitenings)


@dataclass(frozen=True, kw_only=True)
class _Kept:
    """Targets that do not change from step to step, by run, as long as they are few."""

    allowed: bool
    targets: dict[int, Targets]


def _all_fit(pool: Pool, members: np.ndarray, config: KipConfig) -> bool:
    """Whether every step uses all members of every run, and these may be held in memory twice, bare and as units."""
    most = max(int(members[:, records].sum(1).max()) for records in pool.class_slices)
    return most <= config.batch // pool.num_classes and 2 * 8 * members.sum() * pool.images[0].numel() < MOST_BYTES_KEPT


def _targets(
    pool: Pool,
    members: np.ndarray,
    space: _Space,
    kernel: Kernel,
    kept: _Kept,
    drawn: Augmentation | None,
    config: KipConfig,
    randomness: Randomness,
    step: int,
) -> Iterator[Targets]:
    """What each run in turn regresses onto at this step: the first members of every class in its public order."""
    if kept.targets:
        yield from (kept.targets[run] for run in range(len(members)))
        return
    batches = [
        class_minibatch(members[:, records], config.batch // pool.num_classes, randomness, step, label)
        for label, records in enumerate(pool.class_slices)
    ]
    used: np.ndarray | None = None
    if drawn is not None and not space.whitenings:
        # What some run uses is augmented once for all of them.
        parts = zip(batches, pool.class_slices, strict=True)
        used = np.sort(np.concatenate([order + records.start for (order, _), records in parts]))
        together = space.records[to_device(used, pool.images.device)].double().view(-1, *pool.images.shape[1:])
        space, drawn = replace(space, records=augment(together, drawn).flatten(1)), None
    for run in range(len(members)):
        parts = zip(batches, pool.class_slices, strict=True)
        chosen = np.concatenate([order[taken[run] > 0] + records.start for (order, taken), records in parts])
        index = to_device(chosen, pool.images.device)
        place = index if used is None else to_device(np.searchsorted(used, chosen), pool.images.device)
        images = space.records_of(run, place).view(-1, *pool.images.shape[1:])
        images = images if drawn is None or not len(images) else augment(images, drawn)
        found = Targets(
            images=images.flatten(1) if kernel.kind == "fc" else images, labels=space.labels[pool.labels[index]]
        )
        if kept.allowed:
            kept.targets[run] = found
        yield found


def _gradient(
    kernel: Kernel,
    images: Tensor,
    labels: Tensor,
    targets: Iterator[Targets],
    drawn: Augmentation | None,
    ridge: float,
) -> Tensor:
    """The gradient at the images, through the augmentation that they share with the records."""
    leaf = images.detach().requires_grad_()
    seen = leaf if drawn is None else augment(leaf.flatten(0, 1), drawn).view_as(leaf)
    seen = seen.flatten(2) if kernel.kind == "fc" else seen
    found = ridge_gradient(kernel, seen.detach(), labels, targets, ridge=ridge)
    (through,) = torch.autograd.grad(seen, leaf, found)
    return through


def _adam_step(state: dict[str, Tensor], gradient: Tensor, learning_rate: float, step: int) -> None:
    """Adam (Kingma & Ba, arXiv:1412.6980, Algorithm 1)."""
    first, second = state["first moment"], state["second moment"]
    first.lerp_(gradient, 1 - FIRST_DECAY)
    second.mul_(SECOND_DECAY).addcmul_(gradient, gradient, value=1 - SECOND_DECAY)
    spread = (second / (1 - SECOND_DECAY ** (step + 1))).sqrt_().add_(ADAM_EPSILON)
    state["images"].addcdiv_(first, spread, value=-learning_rate / (1 - FIRST_DECAY ** (step + 1)))
