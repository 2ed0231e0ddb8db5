"""MTT: Cazenavette et al., Dataset Distillation by Matching Training Trajectories, CVPR 2022.

An expert is a network that trains on the records; its weights after every epoch are its trajectory. A step takes the
expert at a random epoch, trains a student from there on the synthetic images for N steps with a learned learning rate,
and moves the images so that the student ends near where the expert was M epochs later (Algorithm 1):

    L = ‖θ̂_{t+N} − θ*_{t+M}‖² / ‖θ*_t − θ*_{t+M}‖²                                                          (Eq. (2))

Every run trains experts on its own members. The released code (GeorgeCazenavette/mtt-distillation) stores 100 experts
beforehand. Here one is held at a time, `steps_per_expert` steps are matched with it, and the next one is trained, so
that memory does not grow with their number: runs × (epochs + 1) × weights numbers. First weights of experts and the
epochs they are entered at are public, minibatches belong to a run. Students are unrolled for a few runs at a time.

Images of a class without a member in a run, and all images of a run without members, stay as they started.
"""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from condensers.augment import draw_augmentation, parse_strategy
from condensers.dm import augmented
from condensers.errors import BadConfig
from condensers.fields import check_choice, check_numbers
from condensers.gradient_matching import flatten_gradients, unflatten_gradients
from condensers.initial import balanced_labels, has_members, initial_noise, initial_records, validate_size
from condensers.networks import KINDS, Network, Parameters, classify, draw_parameters
from condensers.pool import CondensedBatch, Pool
from condensers.randomness import Randomness, to_device
from condensers.registry import Track, condenser

BYTES_UNROLLED = 256 << 20
COPIES = 12  # of the widest activation that a step of the student keeps
SMALLEST_MOVE = 1e-12


@dataclass(frozen=True, kw_only=True)
class MttConfig:
    """Defaults of the released code (buffer.py, distill.py), except that images start from noise.

    `student_steps` is N (`syn_steps`), `expert_epochs` M, `first_epochs` the epochs at which a student may start
    (`max_start_epoch`). An expert trains for `first_epochs` + M epochs and no more, since nobody looks further.
    """

    ipc: int = 1
    init: str = "random"
    iterations: int = 5000
    steps_per_expert: int = 50
    student_steps: int = 20
    expert_epochs: int = 3
    first_epochs: int = 25
    batch: int = 256
    expert_learning_rate: float = 0.01
    learning_rate: float = 1000.0
    momentum: float = 0.5
    student_learning_rate: float = 0.01
    rate_learning_rate: float = 1e-5
    extractor: str = "convnet"
    width: int = 128
    depth: int = 3
    augmentation: str = "color_crop_cutout_scale_rotate"

    def __post_init__(self) -> None:
        validate_size(ipc=self.ipc, init=self.init)
        parse_strategy(self.augmentation)
        check_choice(self, "extractor", KINDS)
        check_numbers(
            self,
            at_least_one=(
                "iterations", "steps_per_expert", "student_steps", "expert_epochs", "first_epochs", "batch", "width",
                "depth",
            ),
            positive=("expert_learning_rate", "learning_rate", "student_learning_rate", "rate_learning_rate"),
            below_one=("momentum",),
        )  # fmt: skip

    @property
    def num_epochs(self) -> int:
        return self.first_epochs - 1 + self.expert_epochs


@condenser(
    "mtt",
    config=MttConfig,
    presets={
        # Set by hand, without a recorded search; docs/generators.md has its accuracy on digits at seed 0.
        "quick": {
            "iterations": 200,
            "steps_per_expert": 20,
            "student_steps": 10,
            "expert_epochs": 2,
            "first_epochs": 4,
            "batch": 64,
            "expert_learning_rate": 0.05,
            "student_learning_rate": 0.05,
            "learning_rate": 30.0,
            "rate_learning_rate": 1e-4,
            "width": 16,
            "depth": 2,
        }
    },
)
def condense_mtt(
    pool: Pool, included: Tensor, config: MttConfig, *, randomness: Randomness, track: Track
) -> CondensedBatch:
    """Matching training trajectories of networks that train on the records (Cazenavette et al.)."""
    shape, runs, device = tuple(pool.images.shape[1:]), len(randomness.runs), pool.images.device
    if config.init == "real":
        images, records = initial_records(pool, included, config.ipc, randomness)
    else:
        images, records = initial_noise(pool.num_classes * config.ipc, shape, runs, device, randomness)
    network = Network(
        kind=config.extractor, input_shape=shape, num_classes=pool.num_classes, width=config.width, depth=config.depth
    )
    labels = balanced_labels(pool.num_classes, config.ipc, runs, device)
    members = [np.flatnonzero(row) for row in included.cpu().numpy()]
    present = has_members(pool, included).repeat_interleave(config.ipc, 1)
    like = draw_parameters(network, [randomness.public("network", 0)], device)
    size = sum(value[0].numel() for value in like.values())
    rates = torch.full((runs,), config.student_learning_rate, device=device)
    state = {
        "images": images,
        "velocity": torch.zeros_like(images),
        "rates": rates,
        "rate velocity": torch.zeros_like(rates),
        "trajectory": torch.zeros(runs, config.num_epochs + 1, size, device=device),
    }
    for step in track("condense", config.iterations, state):
        number, within = divmod(step, config.steps_per_expert)
        if within == 0:
            state["trajectory"] = train_expert(pool, members, network, config, randomness, number)
        entered = int(randomness.public("epoch", step).integers(config.first_epochs))
        start = state["trajectory"][:, entered]
        wanted = state["trajectory"][:, entered + config.expert_epochs]
        gradient, at_rates = match(network, like, state, labels, start, wanted, config, randomness, step)
        gradient[~present] = 0.0
        state["velocity"] = config.momentum * state["velocity"] + gradient
        state["images"] = state["images"] - config.learning_rate * state["velocity"]
        state["rate velocity"] = config.momentum * state["rate velocity"] + at_rates
        state["rates"] = (state["rates"] - config.rate_learning_rate * state["rate velocity"]).clamp(min=0.0)
    if not bool(state["images"].isfinite().all()):
        raise BadConfig("mtt diverged: its images are not finite; choose a smaller --set learning_rate")
    return CondensedBatch(images=state["images"], labels=labels, initial_records=records)


def train_expert(
    pool: Pool, members: list[np.ndarray], network: Network, config: MttConfig, randomness: Randomness, number: int
) -> Tensor:
    """θ*_0, θ*_1, … of an expert in every run, `[runs, epochs + 1, weights]`; SGD, as in buffer.py.

    An epoch is as many minibatches as half of the pool has, drawn with replacement from the run's members.
    """
    device, runs = pool.images.device, len(members)
    first = draw_parameters(network, [randomness.public("network", number)], device)
    own = {name: value.repeat(runs, *[1] * (value.ndim - 1)) for name, value in first.items()}
    some = to_device(np.array([float(len(each) > 0) for each in members], dtype=np.float32), device).view(-1, 1)
    per_epoch = max(1, round(pool.num_records / 2 / config.batch))
    trajectory = [flatten_gradients(own)]
    for epoch in range(config.num_epochs):
        streams = randomness.each_private("expert minibatches", number, epoch)
        chosen = np.stack([_draw(each, per_epoch * config.batch, next(streams)) for each in members])
        for part in np.split(chosen, per_epoch, axis=1):
            where = to_device(part, device)
            leaves = {name: value.detach().requires_grad_() for name, value in own.items()}
            logits = classify(network, leaves, pool.images[where])
            losses = F.cross_entropy(logits.flatten(0, 1), pool.labels[where].flatten(), reduction="none")
            loss = (losses.view(runs, -1).mean(1, keepdim=True) * some).sum()
            gradients = torch.autograd.grad(loss, list(leaves.values()))
            own = {
                name: value.detach() - config.expert_learning_rate * gradient
                for (name, value), gradient in zip(leaves.items(), gradients, strict=True)
            }
        trajectory.append(flatten_gradients(own))
    return torch.stack(trajectory, 1)


def _draw(members: np.ndarray, count: int, stream: np.random.Generator) -> np.ndarray:
    if not len(members):
        return np.zeros(count, dtype=np.int64)
    return members[stream.integers(len(members), size=count)]


def match(
    network: Network,
    like: Parameters,
    state: dict[str, Tensor],
    labels: Tensor,
    start: Tensor,
    wanted: Tensor,
    config: MttConfig,
    randomness: Randomness,
    step: int,
) -> tuple[Tensor, Tensor]:
    """∂L/∂S and ∂L/∂(student's learning rate) of every run, some runs at a time."""
    operations = parse_strategy(config.augmentation) if state["images"].ndim == 5 else ()
    drawn = [
        draw_augmentation(operations, randomness.public("augmentation", step, turn)) if operations else None
        for turn in range(config.student_steps)
    ]
    pixels = state["images"][0, 0, 0].numel() if network.kind == "convnet" else 1
    unrolled = 4 * COPIES * config.student_steps * labels.shape[1] * network.width * pixels
    at_once = max(1, BYTES_UNROLLED // unrolled)
    found = []
    for first in range(0, len(labels), at_once):
        part = slice(first, first + at_once)
        images = state["images"][part].detach().requires_grad_()
        rates = state["rates"][part].detach().requires_grad_()
        student = start[part].detach().requires_grad_()
        for turn in range(config.student_steps):
            shown = augmented(images.flatten(0, 1), drawn[turn]).view_as(images)
            logits = classify(network, unflatten_gradients(student, like), shown)
            loss = F.cross_entropy(logits.flatten(0, 1), labels[part].flatten(), reduction="sum") / labels.shape[1]
            (gradient,) = torch.autograd.grad(loss, student, create_graph=True)
            student = student - rates.unsqueeze(1) * gradient
        moved = (start[part] - wanted[part]).square().sum(1)
        share = (student - wanted[part]).square().sum(1) / moved.clamp(min=SMALLEST_MOVE)
        # An expert without records does not move: there is nothing to match.
        found.append(torch.autograd.grad((share * (moved > SMALLEST_MOVE)).sum(), (images, rates)))
    return torch.cat([each[0] for each in found]), torch.cat([each[1] for each in found])
