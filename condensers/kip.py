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
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from condensers.augment import augment, draw_augmentation, parse_strategy
from condensers.dm import _minibatch as draw_minibatch
from condensers.errors import BadConfig
from condensers.initial import balanced_labels, check_members, initial_noise, initial_records, validate_size
from condensers.ntk import Kernel, check_blocks
from condensers.pool import CondensedBatch, Pool
from condensers.randomness import Randomness, to_device
from condensers.registry import Track, condenser
from condensers.ridge import Targets, ridge_gradient
from condensers.whitening import Whitening, centre_and_scale, fit_whitening

KERNELS = ("fc", "conv")
FIRST_DECAY, SECOND_DECAY, ADAM_EPSILON = 0.9, 0.999, 1e-8


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

    def __post_init__(self) -> None:
        validate_size(ipc=self.ipc, init=self.init)
        parse_strategy(self.siamese)
        if self.kernel not in KERNELS:
            raise BadConfig(f"kernel={self.kernel!r} is not one of {', '.join(KERNELS)}")
        for name in ("iterations", "batch", "hidden_layers", "blocks"):
            if getattr(self, name) < 1:
                raise BadConfig(f"{name}={getattr(self, name)}: must be at least 1")
        for name in ("learning_rate", "ridge", "zca_regularisation"):
            if not getattr(self, name) > 0:
                raise BadConfig(f"{name}={getattr(self, name)}: must be positive")


@condenser("kip", config=KipConfig, presets={"quick": {"iterations": 300}})
def condense_kip(
    pool: Pool, included: Tensor, config: KipConfig, *, randomness: Randomness, track: Track
) -> CondensedBatch:
    """Kernel inducing points: ridge regression under the neural tangent kernel."""
    _check(pool, included, config, randomness)
    device, runs, shape = pool.images.device, len(randomness.runs), tuple(pool.images.shape[1:])
    if config.init == "real":
        start, initial = initial_records(pool, included, config.ipc, randomness)
    else:
        start, initial = initial_noise(pool.num_classes * config.ipc, shape, runs, device, randomness)
    records = pool.images.double().flatten(1)
    whitenings = _fit(records, included, config)
    records = centre_and_scale(records)[0] if config.zca else records
    start = start.double()
    if config.zca and config.init == "real":
        start = torch.stack([_whiten(records[initial[run]], fitted, shape) for run, fitted in enumerate(whitenings)])
    labels = _centred_labels(pool.num_classes, device)
    own_labels = labels.repeat_interleave(config.ipc, 0)
    members = included.cpu().numpy()
    state = {"images": start, "first moment": torch.zeros_like(start), "second moment": torch.zeros_like(start)}
    for step in track("condense", config.iterations, state):
        index, shares = _choose_records(pool, members, config, randomness, step)
        chosen = records[index].view(-1, *shape)
        gradient = torch.empty_like(start)
        for group in [slice(run, run + 1) for run in range(runs)] if config.zca else [slice(0, runs)]:
            targets = Targets(images=chosen, labels=labels[pool.labels[index]], shares=shares[group])
            if config.zca:
                targets = _whiten_targets(targets, whitenings[group.start])
            gradient[group] = _augmented_gradient(state["images"][group], own_labels, targets, config, randomness, step)
        _adam_step(state, gradient, config.learning_rate, step)
    images = state["images"]
    if config.zca:
        images = torch.stack(
            [fitted.undo(images[run].flatten(1)).view(-1, *shape) for run, fitted in enumerate(whitenings)]
        )
    return CondensedBatch(
        images=images.float(),
        labels=balanced_labels(pool.num_classes, config.ipc, runs, device),
        initial_records=initial,
    )


def kernel_of(config: KipConfig) -> Kernel:
    return Kernel(kind=config.kernel, depth=config.blocks if config.kernel == "conv" else config.hidden_layers)


def _check(pool: Pool, included: Tensor, config: KipConfig, randomness: Randomness) -> None:
    check_members(pool, included, randomness, at_least=1, why="kip")
    if pool.images.device.type == "mps":
        raise BadConfig("--device mps: kip computes in float64, which that device lacks; use --device cpu")
    if config.batch < pool.num_classes:
        raise BadConfig(f"batch={config.batch}: must be at least {pool.num_classes}, one record of every class")
    if config.kernel == "conv":
        check_blocks(tuple(pool.images.shape[1:]), config.blocks)
    if config.siamese != "none" and pool.images.ndim != 4:
        raise BadConfig(f"siamese={config.siamese}: tables cannot be augmented; use siamese=none")


def _fit(records: Tensor, included: Tensor, config: KipConfig) -> list[Whitening]:
    if not config.zca:
        return []
    return [fit_whitening(records[row], regularisation=config.zca_regularisation) for row in included]


def _whiten(unit: Tensor, fitted: Whitening, shape: tuple[int, ...]) -> Tensor:
    return (unit.flatten(1) @ fitted.matrix).view(-1, *shape)


def _whiten_targets(targets: Targets, fitted: Whitening) -> Targets:
    """The whitened members of one run."""
    used = targets.shares[0].nonzero().squeeze(1)
    return Targets(
        images=_whiten(targets.images[used], fitted, tuple(targets.images.shape[1:])),
        labels=targets.labels[used],
        shares=targets.shares[:, used],
    )


def _centred_labels(num_classes: int, device: torch.device) -> Tensor:
    """One-hot minus 1/C, as the official code centres them."""
    return torch.eye(num_classes, dtype=torch.float64, device=device) - 1 / num_classes


def _choose_records(
    pool: Pool, members: np.ndarray, config: KipConfig, randomness: Randomness, step: int
) -> tuple[Tensor, Tensor]:
    """Records that some run uses at this step, and their share `[runs, records]` of each run's mean."""
    chosen, taken = [], []
    for label, records in enumerate(pool.class_slices):
        order, used = draw_minibatch(members[:, records], config.batch // pool.num_classes, randomness, step, label)
        chosen.append(order + records.start)
        taken.append(used)
    shares = np.concatenate(taken, 1).astype(np.float64)
    shares /= shares.sum(1, keepdims=True)
    return to_device(np.concatenate(chosen), pool.images.device), to_device(shares, pool.images.device)


def _augmented_gradient(
    images: Tensor, labels: Tensor, targets: Targets, config: KipConfig, randomness: Randomness, step: int
) -> Tensor:
    """The gradient at the images, through one augmentation that records and images share."""
    operations = parse_strategy(config.siamese)
    kernel = kernel_of(config)
    if not operations:
        return ridge_gradient(kernel, images, labels, targets, ridge=config.ridge)
    drawn = draw_augmentation(operations, randomness.public("augmentation", step))
    leaf = images.detach().requires_grad_()
    seen = augment(leaf.flatten(0, 1), drawn).view_as(leaf)
    shown = Targets(images=augment(targets.images, drawn), labels=targets.labels, shares=targets.shares)
    gradient = ridge_gradient(kernel, seen.detach(), labels, shown, ridge=config.ridge)
    (through,) = torch.autograd.grad(seen, leaf, gradient)
    return through


def _adam_step(state: dict[str, Tensor], gradient: Tensor, learning_rate: float, step: int) -> None:
    """Adam (Kingma & Ba, arXiv:1412.6980, Algorithm 1)."""
    first, second = state["first moment"], state["second moment"]
    first.lerp_(gradient, 1 - FIRST_DECAY)
    second.mul_(SECOND_DECAY).addcmul_(gradient, gradient, value=1 - SECOND_DECAY)
    spread = (second / (1 - SECOND_DECAY ** (step + 1))).sqrt_().add_(ADAM_EPSILON)
    state["images"].addcdiv_(first, spread, value=-learning_rate / (1 - FIRST_DECAY ** (step + 1)))
