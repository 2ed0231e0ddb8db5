"""From a specification to what `audit utility` measures: which sets, on which networks, under which recipe."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from attacks.victims import PRESETS, VictimConfig
from audit.data.split import Split
from audit.games import settings
from audit.games.condensation import resolve_condensation
from audit.games.full_pool import Condensation
from audit.games.membership.resolve import check_sizes
from audit.games.utility.networks import ARCHITECTURES
from audit.games.utility.training import Recipe
from audit.games.utility.work import Source, digests_of, load_on
from audit.sets.synthetic import SyntheticSet, check_fit, read_synthetic
from audit.specs.utility import Utility
from condensers.errors import BadConfig
from condensers.registry import Method, get_method

QUICK_DIVISOR = 8


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Resolved:
    """Everything that is needed before anything runs; every plan is a condensation and the ε that it costs."""

    source: Source
    split: Split
    recipe: Recipe
    architectures: tuple[str, ...]
    released: tuple[SyntheticSet, ...]
    plans: tuple[tuple[Condensation, float | None], ...]


def resolve_utility(spec: Utility, data_root: Path | None) -> Resolved:
    """Resolve everything, and refuse what cannot work."""
    methods = [get_method(name) for name in spec.methods or (() if spec.synthetic else ("dm",))]
    changes = settings.own_settings(spec.settings)
    if spec.epsilon and not any(method.private for method in methods):
        names = ", ".join(method.name for method in methods) or "a released set"
        raise BadConfig(f"--epsilon {spec.epsilon[0]:g}: there is no noise to calibrate for {names}; leave it out")
    check_settings(changes, methods)
    device = settings.resolve_device(spec.device)
    split = load_on(spec.dataset, data_root, spec.records, device)
    train, test = digests_of(split)
    source = Source(
        dataset=spec.dataset, data_root=data_root, records=spec.records, device=device, train=train, test=test
    )
    recipe = resolve_recipe(spec, split, changes, methods)
    architectures = _architectures(spec, tabular=split.train.images.ndim == 2)
    for name in architectures:
        recipe.network(name, split.train)
    return Resolved(
        source=source,
        split=split,
        recipe=recipe,
        architectures=architectures,
        released=tuple(_read(Path(path), spec, split) for path in spec.synthetic),
        plans=tuple(plan for method in methods for plan in _plans(method, split, spec, changes)),
    )


def resolve_recipe(spec: Utility, split: Split, changes: dict[str, str], methods: list[Method]) -> Recipe:
    """The preset's training, with --epochs for every network."""
    training = settings.resolve_victim(PRESETS, spec.preset, split.train, changes, *methods)
    check_sizes("victim.", vars(training))
    quick = spec.preset == "quick"
    epochs = training.epochs if spec.epochs is None else spec.epochs
    return Recipe(
        training=dataclasses.replace(training, epochs=epochs),
        large_epochs=max(1, epochs // 3) if quick and spec.epochs is None else epochs,
        divisor=QUICK_DIVISOR if quick else 1,
        seeds=spec.seeds,
        seed=spec.seed,
    )


def _architectures(spec: Utility, *, tabular: bool) -> tuple[str, ...]:
    """The names; all of them, or for tables the one that reads tables."""
    if "all" in spec.architectures:
        return ("mlp",) if tabular else ARCHITECTURES
    return spec.architectures


def check_settings(changes: dict[str, str], methods: list[Method]) -> None:
    """A key must belong to the training or to at least one of the methods."""
    own = [field for method in methods for field in dataclasses.fields(method.config)]
    together = dataclasses.make_dataclass("together", {field.name: field.type for field in own}.items())
    settings.check_changes(changes, {"": together, "victim.": VictimConfig})


def _plans(
    method: Method, split: Split, spec: Utility, changes: dict[str, str]
) -> Iterator[tuple[Condensation, float | None]]:
    """Every size, and for a private method every ε."""
    epsilons: tuple[float | None, ...] = spec.epsilon if method.private and spec.epsilon else (None,)
    for ipc in spec.ipc or (None,):
        for epsilon in epsilons:
            condensation = resolve_condensation(
                method,
                split.train,
                preset=spec.preset,
                ipc=ipc,
                init=spec.init,
                epsilon=epsilon,
                delta=spec.delta,
                changes=changes,
            )
            asked = settings.target_epsilon(method, spec.preset, split.train, epsilon, changes)
            yield condensation, asked if asked is not None else _own_epsilon(condensation, spec.delta)


def _own_epsilon(condensation: Condensation, delta: float) -> float | None:
    """What a private method's own noise costs, by its plan."""
    if condensation.method.plan is None:
        return None
    from audit.accounting.ledger import claim_from_ledger, claims_anything

    plan = condensation.method.plan(condensation.config, condensation.class_sizes)
    return claim_from_ledger(plan, delta).epsilon_pld if claims_anything(plan) else None


def _read(path: Path, spec: Utility, split: Split) -> SyntheticSet:
    synthetic = read_synthetic(path, dataset=split.train.name, index=spec.index, normalisation=spec.normalisation)
    check_fit(synthetic, split.train)
    return synthetic
