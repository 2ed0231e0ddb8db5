"""From what a group of runs released to the columns that scores are learned from."""

from functools import partial

import numpy as np
import torch
from torch import Tensor

from attacks.victims import VictimConfig, train_victims, victim_network
from audit.games.neighbours import ANTIPODE, FIRST_ORDINARY, OPPONENT, Trials
from audit.games.transcript.adversary import Eavesdropper
from audit.games.transcript.features import Features, Items, describe, describe_labels, thin
from condensers.ledger import EVERYBODY
from condensers.mechanism import Release, Request
from condensers.networks import Stack, classify
from condensers.pool import CondensedBatch, Pool
from condensers.randomness import Randomness
from condensers.registry import untracked

MOST_RELEASES = 8  # whose sums are looked at one by one
VICTIM = VictimConfig(width=8, depth=1, epochs=30, learning_rate=0.05, augmentation="none")
WEIGHTS = 256  # parameters of a network that are looked at, evenly spaced


class Recorder:
    """A listener that keeps the sums of the first releases, relative to the canary and in units of the noise."""

    def __init__(self, pool: Pool, trials: Trials, eavesdropper: Eavesdropper) -> None:
        self._pool, self._trials, self._ear = pool, trials, eavesdropper
        self._parts: list[Items] = []

    def __call__(self, release: Release) -> None:
        if release.index >= MOST_RELEASES:
            return
        labels = self._trials.labels
        rows = np.arange(len(labels))
        for position, request in enumerate(release.requests):
            noise = release.noise_multiplier * (2.0 if release.apart else request.sensitivity)
            sums = release.sums[: len(labels), position].double() / (release.clip * noise)
            if isinstance(request, Request):
                canary = self._ear.vectors(release, request, self._trials.canaries, rows) / noise
            else:
                without, present = self._ear.whole.expect(release, request)
                sums, canary = sums - without[rows] / noise, (present - without)[rows] / noise
            mine = np.ones(len(labels), bool) if request.group is EVERYBODY else labels == request.group
            self._parts.append(
                Items.relative(
                    sums.float().unsqueeze(1), canary.float().unsqueeze(1), torch.from_numpy(mine).unsqueeze(1)
                )
            )

    def features(self) -> Features:
        """Of all runs of the group."""
        narrow = min(part.values.shape[-1] for part in self._parts)
        return describe(Items.joined([_narrowed(part, narrow) for part in self._parts]))


def _narrowed(part: Items, width: int) -> Items:
    columns = {name: getattr(part, name) for name in Items.__annotations__}
    return Items(**columns | {"values": part.values[..., :width]})


def describe_set(batch: CondensedBatch, pool: Pool, trials: Trials) -> Features:
    """Columns of the released sets; the canary is compared as it is."""
    runs = len(trials.labels)
    about = torch.from_numpy(trials.labels)
    images, labels = torch.nan_to_num(batch.images[:runs].float()).flatten(2), batch.labels[:runs]
    hard = labels if labels.ndim == 2 else labels.argmax(-1)
    canary = pool.images[trials.canaries].flatten(1).unsqueeze(1)
    items = Items.joined([Items.relative(images, canary, hard == about.unsqueeze(1))])
    labels = torch.nan_to_num(labels) if labels.ndim == 3 else labels.clamp(0, pool.num_classes - 1)
    return {**describe(items), "labels": describe_labels(labels, about, pool.num_classes)}


def describe_model(batch: CondensedBatch, pool: Pool, trials: Trials, randomness: Randomness) -> Features:
    """Columns of the networks that were released, or trained on the released sets."""
    networks = batch.networks
    if networks is None:
        network = victim_network(pool, VICTIM)
        trained = train_victims(network, batch, VICTIM, randomness=randomness, track=untracked)
        networks = Stack(network=network, parameters=trained)
    runs, places = len(trials.labels), (0, OPPONENT, ANTIPODE, FIRST_ORDINARY)
    logits_of = partial(classify, networks.network, networks.parameters)
    with torch.no_grad():
        logits = logits_of(pool.images.unsqueeze(0))[:runs]
    probes = torch.from_numpy(trials.labels[:, None] * trials.places + np.array(places)[None, :])
    chosen = logits.gather(1, probes.unsqueeze(-1).expand(-1, -1, logits.shape[-1]))
    turn = (
        torch.arange(pool.num_classes).unsqueeze(0) + torch.from_numpy(trials.labels).unsqueeze(1)
    ) % pool.num_classes
    aligned = torch.nan_to_num(chosen.gather(2, turn.unsqueeze(1).expand(-1, chosen.shape[1], -1)))
    weights = torch.cat([tensor[:runs].flatten(1) for tensor in networks.parameters.values()], 1)
    columns = torch.nan_to_num(aligned.flatten(1))
    margins = aligned[..., 0] - aligned[..., 1:].amax(-1)
    return {
        "linear": torch.cat([columns, thin(torch.nan_to_num(weights), WEIGHTS)], 1),
        "logits": torch.cat([columns, margins, _log_probability(aligned)], 1),
        "weights": _weight_columns(networks, runs),
    }


def _log_probability(aligned: Tensor) -> Tensor:
    return torch.log_softmax(aligned, -1)[..., 0]


def _weight_columns(networks: Stack, runs: int) -> Tensor:
    """Norm, mean and extremes of every tensor of parameters."""
    columns = []
    for tensor in networks.parameters.values():
        flat = torch.nan_to_num(tensor[:runs].flatten(1))
        columns += [torch.linalg.vector_norm(flat, dim=1), flat.mean(1), flat.amax(1), flat.amin(1)]
    return torch.stack(columns, 1)
