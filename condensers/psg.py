"""PSG: Chen, Kerkouche, Fritz, Private Set Generation with Discriminative Information; supplement, Algorithm 2 and C.3.

Gradient matching with the noisy gradient of a Poisson sample of all classes in place of the real one. Each of R rounds
(`iterations`; the paper's "runs") draws a fresh network. T times (`outer`) it meets K samples (`batches`), each of
which moves the synthetic set by one step, and is then trained on the set for J steps (`inner`). R·T·K releases in all
(A: "composition over RTK").

Where paper and code disagree, here is what the proof needs: noise of σC on the sum, which is then divided by B (the
pseudo-code has the noise inside the sum, which is σC/√B; "uniform" samples are Poisson samples in the code, by Opacus);
and every release is accounted. `as_published` runs one round more than that, as the code does (R + 1 rounds), and marks
its releases as not accounted.

Differs from the official code: J steps are on the whole set, as in the pseudo-code; there J are epochs of batches of
256, which is more steps from 26 images per class on.

Without noise (a noise multiplier of 0) it is what the released code does without `--enable_privacy` (main.py): the
gradient of the mean loss of a sample, of which nothing is clipped. Nothing is claimed for it.

With a generator as prior the weights of a network are trained in place of the pixels (condensers/synthetic.py).

While all runs have the same network (until it is first trained), a record's gradient is computed once for all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from condensers.errors import BadConfig
from condensers.fields import check_choice, check_numbers
from condensers.generator import named, under
from condensers.gradient_matching import flatten_gradients, gradient_distance, unflatten_gradients
from condensers.initial import balanced_labels, validate_private_size
from condensers.ledger import EVERYBODY, Entries, Event
from condensers.mechanism import Door, Request, class_sampling
from condensers.networks import KINDS, Network, Parameters, chunk_size, classify, draw_parameters
from condensers.normalisation import NORMALISATIONS
from condensers.pool import CondensedBatch
from condensers.randomness import PublicRandomness
from condensers.record_gradients import record_gradients
from condensers.registry import Track, condenser
from condensers.samples import BatchRequest
from condensers.synthetic import Synthetic, optimise_generator, optimise_pixels

SCHEDULES = {1: (1, 1), 10: (10, 50), 20: (20, 25), 50: (50, 10)}  # (T, J) by images per class, C.3
PRIOR_SCHEDULE = (2, 10)  # main_prior.py of the released code, whatever the images per class
PRIORS = ("none", "generator")
SMALL_SCHEDULE = {"iterations": 5, "outer": 2, "batches": 1, "inner": 1}
PRESETS: dict[str, dict[str, Any]] = {
    # Few steps, hence ten times the learning rate; chosen by looking at digits (docs/private-methods.md).
    "quick": {
        "iterations": 20,
        "outer": 1,
        "batch": 128,
        "learning_rate": 1.0,
        "width": 16,
        "depth": 2,
        "generator_width": 16,
    },
    "worst-case": {"ipc": 1, **SMALL_SCHEDULE, "batch": 10, "extractor": "linear", "width": 4, "generator_width": 2},
}
NEVER_CLIPPED = 1e6  # a norm that no gradient of a sample has


@dataclass(frozen=True, kw_only=True)
class PsgConfig:
    """Defaults of C.3 for ten images a class and ε = 10 at N = 60 000, which σ = 0.966 gives.

    A noise multiplier of 0 is the arm without privacy: gradients that are not clipped, for which nothing is claimed.
    `outer` and `inner` at 0 are what C.3 has for as many images per class, or for the next smaller number that it has.
    """

    ipc: int = 10
    init: str = "random"
    iterations: int = 1000
    outer: int = 0
    batches: int = 10
    inner: int = 0
    batch: int = 256
    clip: float = 0.1
    noise_multiplier: float = 0.966
    learning_rate: float = 0.1
    momentum: float = 0.5
    network_learning_rate: float = 0.01
    extractor: str = "convnet"
    width: int = 128
    depth: int = 3
    prior: str = "none"
    generator_learning_rate: float = 0.01
    generator_width: int = 64
    as_published: bool = False
    normalisation: str = "half"

    def __post_init__(self) -> None:
        noise = self.noise_multiplier if self.noise_multiplier != 0 else 1.0
        validate_private_size(ipc=self.ipc, init=self.init, batch=self.batch, noise_multiplier=noise)
        check_choice(self, "extractor", KINDS)
        check_choice(self, "prior", PRIORS)
        check_choice(self, "normalisation", NORMALISATIONS)
        for name in ("outer", "inner"):
            if getattr(self, name) < 0:
                raise BadConfig(f"{name}={getattr(self, name)}: must be at least 1, or 0 for the value of the paper")
        check_numbers(
            self,
            at_least_one=("iterations", "batches", "width", "depth", "generator_width"),
            positive=("clip", "learning_rate", "network_learning_rate", "generator_learning_rate"),
            below_one=("momentum",),
        )

    @property
    def num_outer(self) -> int:
        return self.outer or self._schedule[0]

    @property
    def num_inner(self) -> int:
        return self.inner or self._schedule[1]

    @property
    def _schedule(self) -> tuple[int, int]:
        if self.prior == "generator":
            return PRIOR_SCHEDULE
        return SCHEDULES[max(ipc for ipc in SCHEDULES if ipc <= self.ipc)]

    @property
    def num_rounds(self) -> int:
        """R, and one more where the published code is to be shown as it is."""
        return self.iterations + self.as_published


def plan_psg(config: PsgConfig, class_sizes: tuple[float, ...], noise_by: str = "clip") -> Entries:
    """R·T·K releases of the whole set, and T·K that are not accounted for where the code is run as published."""
    sampling = class_sampling(class_sizes, EVERYBODY, config.batch)
    per_round = config.num_outer * config.batches
    if config.noise_multiplier == 0:
        event = Event(group=EVERYBODY, sampling=sampling, noise_multiplier=0.0, accounted=False, of="batch")
        return ((event, config.num_rounds * per_round),)
    counts = {True: config.iterations, False: config.num_rounds - config.iterations}
    return tuple(
        (
            Event(
                group=EVERYBODY,
                sampling=sampling,
                noise_multiplier=config.noise_multiplier,
                noise_by=noise_by,
                accounted=accounted,
            ),
            rounds * per_round,
        )
        for accounted, rounds in counts.items()
        if rounds
    )


@condenser("psg", config=PsgConfig, presets=PRESETS, plan=plan_psg)
def condense_psg(door: Door, config: PsgConfig, *, randomness: PublicRandomness, track: Track) -> CondensedBatch:
    """Gradient matching with a privacy guarantee (Chen, Kerkouche, Fritz)."""
    return match_private_gradients(
        door, config, randomness=randomness, track=track, clip_at=lambda _: config.clip, noise_by="clip"
    )


def match_private_gradients(
    door: Door,
    config: PsgConfig,
    *,
    randomness: PublicRandomness,
    track: Track,
    clip_at: Callable[[int], float],
    noise_by: str,
) -> CondensedBatch:
    """The loop of Algorithm 2; `clip_at` gives the clipping norm of each outer iteration, counted from 1."""
    network = Network(
        kind=config.extractor,
        input_shape=door.input_shape,
        num_classes=door.num_classes,
        width=config.width,
        depth=config.depth,
    )
    labels = balanced_labels(door.num_classes, config.ipc, door.num_runs, door.device)
    synthetic = _what_moves(door, labels, randomness, config)
    sampling = door.poisson(EVERYBODY, config.batch)
    size = max(1, chunk_size(network, door.device) // labels.shape[1])

    def draw_network(number: int) -> Parameters:
        return draw_parameters(network, [randomness.public("network", number)], door.device)

    state = {**synthetic.state, **named("network", draw_network(0))}
    per_round = config.num_outer * config.batches
    for step in track("condense", config.num_rounds * per_round, state):
        number, within = divmod(step, per_round)
        outer, batch = divmod(within, config.batches)
        if within == 0:
            state.update(named("network", draw_network(number)))
        parameters = under("network", state)
        dim = sum(value[0].numel() for value in parameters.values())
        if config.noise_multiplier == 0:
            whole = BatchRequest(
                group=EVERYBODY,
                sampling=sampling,
                vector=partial(sample_gradients, network=network, parameters=parameters),
            )
            found, _ = door.release_batch(whole, dim=dim, clip=NEVER_CLIPPED, noise_multiplier=0.0, accounted=False)
        else:
            request = Request(
                group=EVERYBODY,
                sampling=sampling,
                vectors=partial(record_gradients, network=network, parameters=parameters),
            )
            sums = door.release(
                [request],
                dim=dim,
                clip=clip_at(outer + 1),
                noise_multiplier=config.noise_multiplier,
                per_run=len(parameters["head.bias"]) != 1,
                noise_by=noise_by,
                accounted=number < config.iterations,
            )
            found = sums[:, 0] / config.batch
        target = unflatten_gradients(found, parameters)
        gradient = matching_gradient(network, parameters, synthetic.images(state), labels, target, size)
        synthetic.move(state, gradient, step)
        if batch == config.batches - 1 and outer < config.num_outer - 1:
            trained = _train(network, parameters, synthetic.images(state), labels, config, size)
            state.update(named("network", trained))
    return CondensedBatch(
        images=synthetic.images(state),
        labels=labels,
        initial_records=torch.full(labels.shape, -1, dtype=torch.int64, device=door.device),
    )


def sample_gradients(
    images: Tensor, labels: Tensor, present: Tensor, *, network: Network, parameters: Parameters
) -> Tensor:
    """∇_θ of the mean loss of the sample of every run, `[runs, dim]`, tensors in order of names; 0 of an empty sample.

    Who is not present is blank and has no part in the loss.
    """
    runs, size = len(images), chunk_size(network, images.device)
    found = torch.zeros(runs, sum(value[0].numel() for value in parameters.values()), device=images.device)
    for run in range(runs):
        own = {name: value.requires_grad_() for name, value in _of_runs(parameters, slice(run, run + 1), 1).items()}
        count = int(present[run].sum())  # blanks stand at the end
        for start in range(0, count, size):
            part = slice(start, min(start + size, count))
            loss = F.cross_entropy(
                classify(network, own, images[run : run + 1, part])[0], labels[run, part], reduction="sum"
            )
            gradients = torch.autograd.grad(loss / count, list(own.values()))
            found[run] += flatten_gradients(dict(zip(own, gradients, strict=True)))[0]
    return found


def matching_gradient(
    network: Network, parameters: Parameters, images: Tensor, labels: Tensor, target: Parameters, size: int
) -> Tensor:
    """∂/∂S of L_dis(∇_θ L(S, θ), g̃) of every run (Eq. (5) of the paper, B of the supplement), `size` runs at a time."""
    gradient = torch.empty_like(images)
    for start in range(0, len(images), size):
        part = slice(start, start + size)
        leaf = images[part].detach().requires_grad_()
        found = _set_gradients(network, _of_runs(parameters, part, len(leaf)), leaf, labels[part], create_graph=True)
        distance = gradient_distance({name: value[part] for name, value in target.items()}, found).sum()
        (gradient[part],) = torch.autograd.grad(distance, leaf)
    return gradient


def _train(
    network: Network, parameters: Parameters, images: Tensor, labels: Tensor, config: PsgConfig, size: int
) -> Parameters:
    """J steps θ = θ − τ_θ ∇_θ L(S, θ) of every run on its own set."""
    parts = []
    for start in range(0, len(images), size):
        part = slice(start, start + size)
        own = _of_runs(parameters, part, len(images[part]))
        for _ in range(config.num_inner):
            gradients = _set_gradients(network, own, images[part], labels[part], create_graph=False)
            own = {name: value.detach() - config.network_learning_rate * gradients[name] for name, value in own.items()}
        parts.append(own)
    return {name: torch.cat([part[name] for part in parts]) for name in parameters}


def _set_gradients(
    network: Network, parameters: Parameters, images: Tensor, labels: Tensor, *, create_graph: bool
) -> Parameters:
    """∇_θ L(S, θ), L the mean over the set (1/M Σ of Algorithm 2), stacked over runs."""
    own = {name: value.requires_grad_() for name, value in parameters.items()}
    logits = classify(network, own, images)
    loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum") / labels.shape[1]
    return dict(zip(own, torch.autograd.grad(loss, list(own.values()), create_graph=create_graph), strict=True))


def _of_runs(parameters: Parameters, part: slice, runs: int) -> Parameters:
    """The networks of some runs, the one that all share repeated for each."""
    return {
        name: (value.expand(runs, *value.shape[1:]) if len(value) == 1 else value[part]).clone()
        for name, value in parameters.items()
    }


def _what_moves(door: Door, labels: Tensor, randomness: PublicRandomness, config: PsgConfig) -> Synthetic:
    """Pixels by SGD with momentum, or a generator's weights by Adam (C.3)."""
    if config.prior == "generator":
        rate = config.generator_learning_rate
        return optimise_generator(door, labels, randomness, width=config.generator_width, learning_rate=rate)
    return optimise_pixels(door, labels, randomness, learning_rate=config.learning_rate, momentum=config.momentum)
