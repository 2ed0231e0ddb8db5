"""DP-HP: Vinaroz et al., Hermite Polynomial Features for Private Data Generation, ICML 2022.

Mean embeddings of Hermite features, released at rate 1: of the sum kernel (every pixel by itself) once, of the product
kernel (all products over a few pixels, drawn anew) once for each epoch. A generator is trained on both, which is
post-processing. Settings of the released code: ParkLabML/DP-HP at e9aec76, dp_mehp/prod_and_sum_kernel_image.py; kernel
and weight of the product term depend on the data set (its README; preset "paper").

By Mehler's formula the features of a pixel have a norm of 1 at most, k(x, x) = 1, so both embeddings have; the door
clips them anyway. The released code splits ε by hand (.8 for the sum kernel, .2 for the product kernel, half of δ each)
and adds up: `product_noise` is the ratio of the noise multipliers that this split gives, so that one number decides the
cost of all releases, and the ledger composes them, which costs less.

`adjacency="replace"` is as published (noise 2σ/n on the mean). What differs from the released code is what
condensers/dp_merf.py says of its own.
"""

from dataclasses import dataclass
from math import prod, sqrt
from typing import Any

import torch
from torch import Tensor

from condensers.dp_merf import ADJACENCY, everybody
from condensers.errors import BadConfig
from condensers.fields import check_choice, check_numbers
from condensers.generation import GeneratorConfig, Studio
from condensers.generator import generate
from condensers.initial import validate_noise
from condensers.ledger import EVERYBODY, Entries, Event
from condensers.mechanism import Door, Request
from condensers.pool import CondensedBatch
from condensers.randomness import PublicRandomness
from condensers.registry import Track, condenser

PRESETS: dict[str, dict[str, Any]] = {
    "paper": {"adjacency": "replace"},
    # Set by hand, without a recorded search; docs/generators.md has its accuracy on digits at seed 0.
    "quick": {
        "iterations": 300,
        "order": 10,
        "product_order": 5,
        "length_scale": 0.1,
        "epochs": 1,
        "product_noise": 4.0,
        "generator": "mlp",
        "generator_width": 100,
    },
    "worst-case": {
        "ipc": 1,
        "iterations": 2,
        "order": 1,
        "product_order": 1,
        "epochs": 2,
        "generator": "mlp",
        "generator_width": 2,
        "batch_generated": 2,
    },
}


@dataclass(frozen=True, kw_only=True)
class DpHpConfig(GeneratorConfig):
    """Orders 100 and 20, products of 2 pixels, 10 epochs of 300 batches of 200, Adam .01 falling by .9 with each epoch.

    `length_scale` is the variance of the kernel of a pixel in [0, 1]; σ of the sum kernel is what .8 of ε = 1 takes.
    """

    order: int = 100
    product_order: int = 20
    product_pixels: int = 2
    product_weight: float = 1.0
    length_scale: float = 0.001
    noise_multiplier: float = 5.159
    product_noise: float = 11.485
    adjacency: str = "add-or-remove"
    epochs: int = 10
    decay: float = 0.9
    generator: str = "upsampling-bn"
    generator_width: int = 500
    latent: int = 5
    batch_generated: int = 200
    batch: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        validate_noise(batch=self.batch, noise_multiplier=self.noise_multiplier)
        check_choice(self, "adjacency", ADJACENCY)
        check_numbers(
            self,
            at_least_one=("order", "product_order", "product_pixels", "epochs"),
            positive=("length_scale", "product_noise", "product_weight", "decay"),
        )
        if self.epochs > self.iterations:
            raise BadConfig(f"epochs={self.epochs}: must be at most iterations={self.iterations}, one step for each")

    @property
    def rho(self) -> float:
        """ρ of Mehler's formula for the kernel exp(−(x − x′)²/2ℓ²): `find_rho` of the released code."""
        inverse = 2 * self.length_scale  # 1/α
        return -inverse / 2 + sqrt(inverse**2 + 4) / 2

    def epoch(self, step: int) -> int:
        return step * self.epochs // self.iterations


def plan_dp_hp(config: DpHpConfig, class_sizes: tuple[float, ...]) -> Entries:
    """One release of the sum kernel, one of the product kernel for each epoch; all of everybody."""
    sampling, noise = everybody(class_sizes, config.adjacency), config.noise_multiplier
    multipliers = {noise: 1, noise * config.product_noise: config.epochs}
    if len(multipliers) == 1:
        multipliers = {noise: 1 + config.epochs}
    return tuple(
        (Event(group=EVERYBODY, sampling=sampling, noise_multiplier=each), count) for each, count in multipliers.items()
    )


def hermite_features(values: Tensor, order: int, rho: float) -> Tensor:
    """φ_0 … φ_order of every value, on a last axis (`phi_recursion`); Σ_k φ_k(x)² ≤ 1."""
    found = [(1 - rho**2) ** 0.25 * (-rho / (1 + rho) * values.square()).exp()]
    found.append(sqrt(2 * rho) * values * found[0])
    for k in range(1, order):
        found.append(sqrt(2 * rho / (k + 1)) * values * found[k] - rho * sqrt(k / (k + 1)) * found[k - 1])
    return torch.stack(found[: order + 1], -1)


@condenser("dp-hp", config=DpHpConfig, presets=PRESETS, plan=plan_dp_hp, releases="generator")
def condense_dp_hp(door: Door, config: DpHpConfig, *, randomness: PublicRandomness, track: Track) -> CondensedBatch:
    """A generator trained on noisy mean embeddings of Hermite polynomial features (Vinaroz et al.)."""
    generator = config.shape(door.input_shape, door.num_classes)
    studio = Studio(generator=generator, config=config, randomness=randomness, runs=door.num_runs, device=door.device)
    pixels, num_classes = prod(door.input_shape), door.num_classes
    if config.product_pixels > pixels:
        raise BadConfig(
            f"product_pixels={config.product_pixels}: the records have {pixels} values; choose at most {pixels}"
        )
    dims = (pixels * (config.order + 1), (config.product_order + 1) ** config.product_pixels)

    def embed_sum(images: Tensor) -> Tensor:
        """Of flat images, every pixel by itself: k(x, x′) = Σ_d k(x_d, x′_d)/D."""
        return hermite_features((images + 1) / 2, config.order, config.rho).flatten(-2) / sqrt(pixels)

    def embed_product(images: Tensor, epoch: int) -> Tensor:
        """Products of the features of this epoch's pixels."""
        chosen = randomness.public("product pixels", epoch).choice(pixels, config.product_pixels, replace=False)
        each = hermite_features((images[..., chosen] + 1) / 2, config.product_order, config.rho)
        found = each[..., 0, :]
        for pixel in range(1, config.product_pixels):
            found = (found.unsqueeze(-1) * each[..., pixel, :].unsqueeze(-2)).flatten(-2)
        return found

    def release(kernel: int, epoch: int) -> Tensor:
        """The noisy mean embedding `[runs, classes · features]`; a vector stands in the place of its class."""

        def vectors(images: Tensor, labels: Tensor) -> Tensor:
            flat = images.flatten(1)
            own = embed_product(flat, epoch) if kernel else embed_sum(flat)
            found = own.new_zeros(len(own), num_classes, own.shape[1])
            found[torch.arange(len(own), device=own.device), labels] = own
            return found.flatten(1)

        noise = config.noise_multiplier * (config.product_noise if kernel else 1.0)
        request = Request(group=EVERYBODY, sampling=everybody(door.class_sizes, config.adjacency), vectors=vectors)
        sums = door.release([request], dim=dims[kernel] * num_classes, clip=1.0, noise_multiplier=noise)
        return sums[:, 0] / sum(door.class_sizes)

    wanted = [torch.zeros(door.num_runs, dim * num_classes, device=door.device) for dim in dims]
    state = {**studio.start(), "sum": wanted[0], "product": wanted[1]}
    for step in track("condense", config.iterations, state):
        epoch = config.epoch(step)
        if step == 0:
            state["sum"] = release(0, 0)
        if step == 0 or epoch != config.epoch(step - 1):
            state["product"] = release(1, epoch)
        labels = studio.labels(step, config.batch_generated)
        own = studio.leaves(state)
        flat = generate(generator, own, studio.codes(step, labels)).flatten(2)
        shares = torch.nn.functional.one_hot(labels, num_classes).to(flat) / len(labels)
        gaps = [
            state[name] - torch.einsum("rif,ic->rcf", features, shares).flatten(1)
            for name, features in (("sum", embed_sum(flat)), ("product", embed_product(flat, epoch)))
        ]
        loss = gaps[0].square().sum() + config.product_weight * gaps[1].square().sum()
        gradients = torch.autograd.grad(loss, list(own.values()))
        rate = config.generator_learning_rate * config.decay**epoch
        studio.move(state, dict(zip(own, gradients, strict=True)), step, rate)
    return studio.released(studio.weights(state))
