"""From the flags of `audit utility` to its table: which sets, on which networks, under which recipe."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import torch

from attacks.victims import PRESETS, VictimConfig
from audit.data.split import Split, load_split
from audit.engine.cells import FOLDER, Cells
from audit.engine.store import RunDirectory, explain_failure
from audit.games import settings
from audit.games.condensation import Condensation, check_seed, resolve_condensation
from audit.games.membership.resolve import check_sizes, own_settings
from audit.games.utility.bench import Bench, condense_candidate, foreign_candidate
from audit.games.utility.meter import STEP, Meter
from audit.games.utility.networks import ARCHITECTURES, LARGE, NAMES
from audit.games.utility.training import LEAST_PASSES, WHOLE_RECIPE, Recipe
from audit.sets.synthetic import SyntheticSet, check_fit, read_synthetic
from audit.specs.options import split_settings
from condensers.errors import Incomplete
from condensers.registry import Method, get_method

QUICK_DIVISOR = 8
SCHEMA = "condensation-audit/utility/1"


def run_utility(flags: dict[str, Any], say: Callable[[str], None]) -> dict[str, Any]:
    """Resolve everything, refuse what cannot work, then measure."""
    check_seed(flags["seed"])
    methods = [get_method(name) for name in flags["methods"] or ([] if flags["synthetic"] else ["dm"])]
    changes = own_settings(split_settings(flags["changes"]))
    _check_changes(changes, methods)
    split = load_split(flags["dataset"], data_root=flags["data_root"], records=flags["records"])
    split = _on_device(split, settings.resolve_device(flags["device"]))
    recipe = resolve_recipe(flags, split, changes)
    architectures = parse_architectures(flags["architectures"], tabular=split.train.images.ndim == 2)
    networks = [recipe.network(name, split.train) for name in architectures]
    released = [_read(path, flags, split) for path in flags["synthetic"]]
    plans = [plan for method in methods for plan in _plans(method, split, flags, changes)]
    facts = {
        "device": str(split.train.images.device),
        "threads": torch.get_num_threads(),
        "versions": settings.versions(get_method("real")),
    }
    directory = RunDirectory(flags["out"])
    with explain_failure(directory.path):
        directory.path.mkdir(parents=True, exist_ok=True)
    cells = Cells(directory.path / FOLDER, facts, say)
    try:
        with directory.held():
            rows = _measure_all(flags, split, recipe, architectures, released, plans, cells, say)
    except KeyboardInterrupt:
        finished = cells.num_found + cells.num_computed
        raise Incomplete(
            f"interrupted: {finished} finished parts are kept in {directory.path / FOLDER}; run the same command again "
            "to go on"
        ) from None
    return {
        "schema": SCHEMA,
        "dataset": split.train.name,
        "preset": flags["preset"],
        "seed": flags["seed"],
        "delta": flags["delta"],
        "train_records": split.train.num_records,
        "test_records": split.test.num_records,
        "official_test_split": split.official,
        "training": dataclasses.asdict(recipe.training),
        "networks": {network.name: network.num_parameters for network in networks},
        "rows": rows,
        "notes": [
            *_split_notes(split, released),
            *_recipe_notes(recipe, [network.name for network in networks if network.enlarges], architectures),
            *_interval_notes(recipe, one_set=flags["one_set"], released=bool(released), condensed=bool(plans)),
        ],
    }


def _measure_all(
    flags: dict[str, Any],
    split: Split,
    recipe: Recipe,
    architectures: tuple[str, ...],
    released: list[SyntheticSet],
    plans: list[tuple[Condensation, float | None]],
    cells: Cells,
    say: Callable[[str], None],
) -> list[dict[str, Any]]:
    """The rows: every candidate on every network, from finished cells as far as there are any."""
    sets, kinds = len(released) + len(plans), len(architectures)
    meter = Meter(f"measuring {sets} set{'s' * (sets > 1)} on {kinds} kind{'s' * (kinds > 1)} of network")
    bench = Bench(split, recipe, match=flags["match"], full=flags["full"], cells=cells, meter=meter, say=say)
    for place, synthetic in enumerate(released):
        for name in architectures:
            bench.expect(f"released {place}", len(synthetic.images), name)
    for place, (condensation, _) in enumerate(plans):
        for run in range(1 if flags["one_set"] else recipe.seeds):
            meter.expect(f"condensed {place}, set {run}", getattr(condensation.config, "iterations", 1) * 10 * STEP)
        for name in architectures:
            bench.expect(f"condensed {place}", condensation.config.ipc * split.train.num_classes, name)
    rows = []
    with meter.shown():
        for place, synthetic in enumerate(released):
            candidate = foreign_candidate(synthetic, split)
            rows += [bench.row(candidate, name, f"released {place}") for name in architectures]
        for place, (condensation, epsilon) in enumerate(plans):
            task = f"condensed {place}"
            say(f"condensing with {condensation.method.name}, {condensation.config.ipc} images a class")
            candidate = condense_candidate(
                condensation,
                split,
                recipe,
                epsilon=epsilon,
                one_set=flags["one_set"],
                cells=cells,
                meter=meter,
                task=task,
            )
            rows += [bench.row(candidate, name, task) for name in architectures]
    if cells.num_found:
        say(f"{cells.num_found} of {cells.num_found + cells.num_computed} parts were finished before")
    return rows


def resolve_recipe(flags: dict[str, Any], split: Split, changes: dict[str, str]) -> Recipe:
    """The preset's training, with --epochs for every network."""
    training = settings.resolve_victim(PRESETS, flags["preset"], split.train, changes)
    check_sizes("victim.", vars(training))
    quick = flags["preset"] == "quick"
    epochs = flags["epochs"] if flags["epochs"] is not None else training.epochs
    return Recipe(
        training=dataclasses.replace(training, epochs=epochs),
        large_epochs=max(1, epochs // 3) if quick and flags["epochs"] is None else epochs,
        divisor=QUICK_DIVISOR if quick else 1,
        seeds=flags["seeds"],
        seed=flags["seed"],
    )


def parse_architectures(text: str, *, tabular: bool) -> tuple[str, ...]:
    """Names by commas; all of them, or for tables the one that reads tables."""
    if text == "all":
        return ("mlp",) if tabular else ARCHITECTURES
    return tuple(dict.fromkeys(part.strip().lower() for part in text.split(",")))


def _check_changes(changes: dict[str, str], methods: list[Method]) -> None:
    """A key must belong to the training or to at least one of the methods."""
    own = [field for method in methods for field in dataclasses.fields(method.config)]
    together = dataclasses.make_dataclass("together", {field.name: field.type for field in own}.items())
    settings.check_changes(changes, {"": together, "victim.": VictimConfig})


def _plans(
    method: Method, split: Split, flags: dict[str, Any], changes: dict[str, str]
) -> Iterator[tuple[Condensation, float | None]]:
    """Every size, and for a private method every ε."""
    epsilons = flags["epsilons"] if method.private and flags["epsilons"] else (None,)
    for ipc in flags["sizes"]:
        for epsilon in epsilons:
            condensation = resolve_condensation(
                method,
                split.train,
                preset=flags["preset"],
                ipc=ipc,
                init=flags["init"],
                epsilon=epsilon,
                delta=flags["delta"],
                changes=changes,
            )
            yield condensation, epsilon if epsilon is not None else _own_epsilon(condensation, flags["delta"])


def _own_epsilon(condensation: Condensation, delta: float) -> float | None:
    """What a private method's own noise costs, by its plan."""
    if condensation.method.plan is None:
        return None
    from audit.accounting.ledger import claim_from_ledger, claims_anything

    plan = condensation.method.plan(condensation.config, condensation.class_sizes)
    return claim_from_ledger(plan, delta).epsilon_pld if claims_anything(plan) else None


def _read(path: Any, flags: dict[str, Any], split: Split) -> SyntheticSet:
    synthetic = read_synthetic(
        path, dataset=split.train.name, index=flags["index"], normalisation=flags["normalisation"]
    )
    check_fit(synthetic, split.train)
    return synthetic


def _on_device(split: Split, device: str) -> Split:
    where = torch.device(device)
    return Split(train=split.train.to(where), test=split.test.to(where), official=split.official)


def _split_notes(split: Split, released: list[SyntheticSet]) -> list[str]:
    test = split.test.num_records
    notes = [
        f"Tested on the official test split, {test} records."
        if split.official
        else f"Tested on a quarter of the records, {test}, drawn by a fixed key and kept from condensing."
    ]
    for synthetic in released:
        several = f"; the file holds {synthetic.num_sets} sets" if synthetic.num_sets > 1 else ""
        notes.append(f"{synthetic.name}: pixels read as {synthetic.normalisation}{several}.")
        unseen = split.official or (synthetic.label or {}).get("held_out_quarter") is True
        if not unseen:
            notes.append(f"{synthetic.name} may have seen the records it is tested on: its accuracy may be too high.")
    return notes


def _recipe_notes(recipe: Recipe, enlarged: list[str], architectures: tuple[str, ...]) -> list[str]:
    notes = [
        f"Sets above {WHOLE_RECIPE} images are trained for as many steps as one of {WHOLE_RECIPE}, but at least "
        f"{LEAST_PASSES} passes; FLOPs are those of convolutions and matrix products."
    ]
    if enlarged:
        notes.append(f"Images were enlarged to 32×32 for {', '.join(NAMES[name] for name in enlarged)}.")
    narrowed = [NAMES[name] for name in architectures if name in LARGE and recipe.divisor > 1]
    if narrowed:
        notes.append(f"Preset quick: {', '.join(narrowed)} with 1/{recipe.divisor} of the channels.")
    return notes


def _interval_notes(recipe: Recipe, *, one_set: bool, released: bool, condensed: bool) -> list[str]:
    notes = []
    if condensed:
        notes.append(
            f"± is the deviation over {recipe.seeds} networks, "
            + (
                "all on one condensation: it says nothing of another."
                if one_set
                else "each on a condensation of its own."
            )
        )
    if released:
        notes.append(f"± of a released set is the deviation over {recipe.seeds} networks on that one set.")
    return notes
