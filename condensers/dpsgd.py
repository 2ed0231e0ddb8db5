"""DP-SGD: Abadi et al., Deep Learning with Differential Privacy, CCS 2016, arXiv:1607.00133, Algorithm 1.

No condenser, but what condensation is measured against (Carlini, Feldman, Nasr, arXiv:2209.14987): it releases a
network trained on the records themselves, and no synthetic set. The network is the one that the victims of other
methods have, so that accuracies and attacks at level model can be compared.

Every run starts from a network of its own, unknown to the adversary as a victim's is, and makes T steps (`iterations`):
a Poisson sample of L records is expected (`batch`), every record's gradient is clipped to C, noise of σC is added to
their sum, the step is along that sum over L. Momentum is post-processing of the noisy sums.

Differs from the paper: no learning-rate schedule; momentum, which is at 0 by default.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from condensers.fields import check_choice, check_numbers
from condensers.gradient_matching import flatten_gradients, unflatten_gradients
from condensers.initial import validate_noise
from condensers.ledger import EVERYBODY, Entries, Event
from condensers.mechanism import Door, Request, class_sampling
from condensers.networks import KINDS, Stack, fitting_network
from condensers.pool import CondensedBatch
from condensers.randomness import PublicRandomness
from condensers.record_gradients import record_gradients
from condensers.registry import Track, condenser

CHUNK_BYTES = 16 << 20  # of gradients at a time; cache is short
PRESETS: dict[str, dict[str, Any]] = {
    # Chosen by accuracy on digits at seed 0 (docs/private-methods.md).
    "quick": {
        "iterations": 100,
        "batch": 90,
        "clip": 1.0,
        "learning_rate": 0.2,
        "momentum": 0.9,
        "width": 32,
        "depth": 2,
    },
    # So small a learning rate that the network stays unsure of the canary, whose gradient is then long.
    "worst-case": {"iterations": 10, "batch": 10, "clip": 0.1, "learning_rate": 0.01, "kind": "linear", "width": 4},
}


@dataclass(frozen=True, kw_only=True)
class DpsgdConfig:
    """Defaults of Chen, Kerkouche, Fritz for DP-SGD (PSG, supplement, C.3 and C.5): ten epochs of 60 000 records.

    σ is what ε = 10 takes there.
    """

    iterations: int = 2344
    batch: int = 256
    clip: float = 0.1
    noise_multiplier: float = 0.493
    learning_rate: float = 0.01
    momentum: float = 0.0
    kind: str = "convnet"
    width: int = 128
    depth: int = 3

    def __post_init__(self) -> None:
        validate_noise(batch=self.batch, noise_multiplier=self.noise_multiplier)
        check_choice(self, "kind", KINDS)
        check_numbers(
            self,
            at_least_one=("iterations", "width", "depth"),
            positive=("clip", "learning_rate"),
            below_one=("momentum",),
        )


def plan_dpsgd(config: DpsgdConfig, class_sizes: tuple[float, ...]) -> Entries:
    """T releases of the whole set."""
    sampling = class_sampling(class_sizes, EVERYBODY, config.batch)
    return ((Event(group=EVERYBODY, sampling=sampling, noise_multiplier=config.noise_multiplier), config.iterations),)


@condenser("dpsgd", config=DpsgdConfig, presets=PRESETS, plan=plan_dpsgd, releases="network")
def train_dpsgd(
    door: Door,
    config: DpsgdConfig,
    *,
    randomness: PublicRandomness,  # noqa: ARG001
    track: Track,
) -> CondensedBatch:
    """DP-SGD on the records, a baseline: it releases a network and no set (Abadi et al.)."""
    network = fitting_network(
        door.input_shape, door.num_classes, kind=config.kind, width=config.width, depth=config.depth
    )
    first = door.draw_networks(network)
    weights = flatten_gradients(first)
    state = {"weights": weights, "velocity": torch.zeros_like(weights)}
    sampling = door.poisson(EVERYBODY, config.batch)
    for _ in track("condense", config.iterations, state):
        parameters = unflatten_gradients(state["weights"], first)
        request = Request(
            group=EVERYBODY,
            sampling=sampling,  # "Take a random sample L_t with sampling probability L/N"
            vectors=partial(record_gradients, network=network, parameters=parameters),  # "Compute gradient"
        )
        sums = door.release(  # "Clip gradient", "Add noise"
            [request],
            dim=weights.shape[1],
            clip=config.clip,
            noise_multiplier=config.noise_multiplier,
            per_run=True,
            chunk=max(1, CHUNK_BYTES // (4 * weights.numel())),
        )
        state["velocity"] = config.momentum * state["velocity"] + sums[:, 0] / config.batch
        state["weights"] = state["weights"] - config.learning_rate * state["velocity"]  # "Descent"
    return CondensedBatch.of_networks(Stack(network=network, parameters=unflatten_gradients(state["weights"], first)))
