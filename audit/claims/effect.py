"""How far one record moves the synthetic set, as the number of records n and of images m grows.

Dong et al., Proposition 4.10, arXiv:2206.00240: removing a record that no image was initialised from changes the law of
the trained network by O(|S|/|T|), by way of each synthetic image moving by O(1/|T|) (Eq. (35)). Measured here with the
same public randomness with and without the record, and every record of a class in each batch, so that nothing else
differs: the norm of the change of the whole set, over nested pools of n records. The exponent of n is a least-squares
slope of logarithms, averaged over left-out records; its interval is Student's over seeds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
import torch
from scipy import stats

from audit.claims.record import Evidence, Ruling
from audit.data.load import load_pool
from audit.specs import fields
from audit.specs.spec import Spec
from condensers.errors import BadConfig
from condensers.pool import Pool
from condensers.randomness import Randomness, stream
from condensers.registry import condense_runs, get_method

POOL_SIZES = (100, 200, 400, 800, 1600)
# The loss of a linear extractor is a quadratic form with eigenvalues up to about 6 here: the step must stay below 1/6.
LINEAR_LEARNING_RATE = 0.05


class Effect(Spec, frozen=True, kw_only=True):
    """What is measured. It has no command of its own: `audit claims` runs it."""

    method: fields.Method = "dm"
    extractor: str = "linear"
    dataset: fields.Dataset = "digits"
    ipc: int = 1
    left_out: int = 8
    seed: fields.Seed = 0


@dataclass(frozen=True, kw_only=True)
class Effects:
    """Norms of the change of the set, `[left-out records, pool sizes]`."""

    method: str
    dataset: str
    ipc: int
    pool_sizes: tuple[int, ...]
    norms: np.ndarray


def measure_effects(spec: Effect, say: Callable[[str], None]) -> Effects:
    """Condense nested pools with and without each of some records of the smallest one."""
    torch.set_num_threads(1)
    pool, left_out = load_pool(spec.dataset), spec.left_out
    order = _balanced_order(pool, spec.seed)
    sizes = tuple(size for size in POOL_SIZES if size <= pool.num_records)
    removed = order[:left_out]
    norms = np.empty((left_out, len(sizes)))
    for column, size in enumerate(sizes):
        included = np.zeros((left_out + 1, pool.num_records), dtype=bool)
        included[:, order[:size]] = True
        included[np.arange(1, left_out + 1), removed] = False
        images = _condense(spec, pool, included)
        norms[:, column] = (images[1:] - images[0]).flatten(1).norm(dim=1).double().numpy()
        say(f"pools of {size} records")
    if not np.isfinite(norms).all() or not (norms > 0).all():
        raise BadConfig(
            f"the effect of a record on {spec.method} with a {spec.extractor} extractor is not a positive number"
        )
    return Effects(method=spec.method, dataset=spec.dataset, ipc=spec.ipc, pool_sizes=sizes, norms=norms)


def _condense(spec: Effect, pool: Pool, included: np.ndarray) -> torch.Tensor:
    found = get_method(spec.method)
    config: Any = found.config(**{**found.presets["quick"], "ipc": spec.ipc, "init": "random", "augmentation": "none"})
    rate = config.learning_rate if spec.extractor == "convnet" else LINEAR_LEARNING_RATE
    config = replace(config, batch=pool.num_records, extractor=spec.extractor, learning_rate=rate)
    batch, _ = condense_runs(
        found,
        pool,
        torch.from_numpy(included),
        config,
        class_sizes=(),
        randomness=Randomness(seed=spec.seed, runs=tuple(range(len(included)))),
    )
    return batch.images


def _balanced_order(pool: Pool, seed: int) -> np.ndarray:
    """Records in an order of which every beginning has its classes in equal parts."""
    generator = stream(seed, "effect")
    places = [generator.permutation(np.arange(pool.num_records)[part]) for part in pool.class_slices]
    rank = np.concatenate([np.arange(len(part)) for part in places])
    label = np.concatenate([np.full(len(part), k) for k, part in enumerate(places)])
    return np.concatenate(places)[np.lexsort((label, rank))]


def slopes(effects: Effects) -> np.ndarray:
    """The exponent of n for every left-out record: a least-squares slope of logarithms."""
    logarithms = np.log(np.array(effects.pool_sizes, dtype=float))
    centred = logarithms - logarithms.mean()
    return np.log(effects.norms) @ centred / (centred @ centred)


def effect_is_of_order(evidence: Sequence[Evidence], significance: float) -> Ruling:
    """Claim: the effect falls like 1/n. An exponent above −1 means that it falls more slowly.

    One piece of evidence per seed, with other networks, starting noise and left-out records: Student over seeds.
    """
    found: list[Effects] = [one.record for one in evidence]
    exponents = np.array([slopes(effects).mean() for effects in found])
    reach = float(stats.t.isf(significance / 2, len(exponents) - 1)) * exponents.std(ddof=1) / sqrt(len(exponents))
    low, high = exponents.mean() - reach, exponents.mean() + reach
    sizes = found[0].pool_sizes
    mean_norms = np.mean([effects.norms.mean(0) for effects in found], axis=0)
    means = ", ".join(f"{mean:.3g} at {size}" for size, mean in zip(sizes, mean_norms, strict=True))
    return Ruling(
        verdict="CONTRADICTED" if low > -1 else "NOT CONTRADICTED",
        figures=f"for n from {sizes[0]} to {sizes[-1]}, exponent of n: {exponents.mean():.2f} [{low:.2f}, {high:.2f}] "
        f"over {len(found)} seeds with {len(found[0].norms)} left-out records each, claimed −1; mean change of the set "
        f"{means}. The set is measured, not the distribution of what is trained on it; larger n may behave "
        "differently, and an order in n is not a bound for any particular n",
    )
