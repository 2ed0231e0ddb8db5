"""The cost of `audit utility` without comparisons: one set and one network of each kind, with their loops cut short."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch

from attacks.victims import train_stack
from audit.engine.executor import Executor
from audit.games.full_pool import Condensation, condense_all
from audit.games.probe.cost import Cost
from audit.games.probe.loops import CutLoops, Seconds, now
from audit.games.probe.membership import peak_memory
from audit.games.utility.bench import trained_apart
from audit.games.utility.meter import TrainingCost
from audit.games.utility.networks import draw_networks, run_networks
from audit.games.utility.resolve import Resolved
from audit.games.utility.training import score_networks
from condensers.errors import BadConfig
from condensers.initial import balanced_labels
from condensers.pool import CondensedBatch
from condensers.randomness import Randomness

TESTED = 500  # records; what they take is multiplied
START_SECONDS = 3.0  # of a worker, which imports torch


def probe_utility(resolved: Resolved, executor: Executor, *, match: str, say: Callable[[str], None]) -> Cost:
    """Measure for some seconds; the cost of all sets and networks."""
    if match != "none":
        raise BadConfig(f"--match {match}: the cost can be estimated without a search only; use --match none")
    started, threads = now(), torch.get_num_threads()
    torch.set_num_threads(1)  # as workers do
    units: list[Seconds] = []
    seeds, cost = resolved.recipe.seeds, TrainingCost(resolved.recipe, resolved.split.train)
    try:
        for condensation, _ in resolved.plans:
            say(f"probing {condensation.method.name}")
            units += [_condense(resolved, condensation)] * seeds
            size = condensation.config.ipc * resolved.split.train.num_classes
            for name in resolved.architectures:
                network = _train(resolved, name, size)
                units += [network] * seeds if trained_apart(cost(name, size), seeds) else [network.times(seeds)]
    finally:
        torch.set_num_threads(threads)
    return Cost(
        what=f"{len(resolved.plans) * seeds} sets of {resolved.source.dataset} and their networks",
        unit_seconds=tuple(unit.clock for unit in units),
        start_seconds=START_SECONDS,
        rest_seconds=START_SECONDS,
        processor_seconds=sum(unit.processor for unit in units),
        worker_memory=peak_memory(),
        driver_memory=peak_memory(),
        workers=executor.num_workers(resolved.source.device),
        probe_seconds=(now() - started).clock,
    )


def _condense(resolved: Resolved, condensation: Condensation) -> Seconds:
    """Of one set."""
    loops, before = CutLoops(), now()
    randomness = Randomness(seed=resolved.recipe.seed, runs=(0,), independent=True)
    condense_all(condensation, resolved.split.train, randomness, loops.track)
    return now() - before + loops.left


def _train(resolved: Resolved, name: str, size: int) -> Seconds:
    """Of one network, on images as large as the records, and its test."""
    recipe, test = resolved.recipe, resolved.split.test
    classes, per_class = test.num_classes, max(1, size // test.num_classes)
    network, config = recipe.network(name, test), recipe.config(name, size)
    labels = balanced_labels(classes, per_class, 1, test.images.device)
    images = test.images[torch.arange(labels.shape[1], device=labels.device) % test.num_records].unsqueeze(0)
    randomness, loops, before = Randomness(seed=recipe.seed, runs=(0,)), CutLoops(), now()
    parameters = train_stack(
        draw_networks(network, [randomness.private(0, "probe")], test.images.device),
        partial(run_networks, network),
        CondensedBatch(images=images, labels=labels, initial_records=labels * 0 - 1),
        config,
        randomness=randomness,
        track=loops.track,
    )
    trained = now() - before + loops.left
    before, some = now(), min(TESTED, test.num_records)
    first = replace(test, images=test.images[-some:], labels=test.labels[-some:])
    score_networks(network, parameters, first)
    tested = (now() - before).times(test.num_records / some)
    return trained + tested
