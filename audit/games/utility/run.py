"""Runs `audit utility`: condense, train, test, and write the record, its pages and a table."""

import dataclasses
from collections.abc import Callable

from audit.data.split import Split
from audit.engine.cells import FOLDER, Cells, tensor_digest
from audit.engine.pages import keep_record
from audit.engine.store import RunDirectory, explain_failure, write_text
from audit.engine.where import Where
from audit.games.settings import digest_of_record, facts_of, versions
from audit.games.utility.bench import Bench
from audit.games.utility.networks import LARGE, NAMES
from audit.games.utility.resolve import Resolved, resolve_utility
from audit.games.utility.table import Seconds, write_csv
from audit.games.utility.training import LEAST_PASSES, WHOLE_RECIPE, Recipe
from audit.sets.synthetic import SyntheticSet
from audit.specs.utility import Utility
from condensers.errors import Incomplete
from reports.documents.utility import build_utility
from reports.records.utility import UtilityReport, UtilityRow


def run_utility(spec: Utility, where: Where, say: Callable[[str], None]) -> UtilityReport:
    """Measure, or go on measuring; the record, which is also written beside its pages and utility.csv."""
    resolved = resolve_utility(spec, where.data_root)
    directory = RunDirectory(where.out)
    with explain_failure(directory.path):
        directory.path.mkdir(parents=True, exist_ok=True)
    try:
        with directory.held():
            rows = _measure(spec, resolved, directory, where, say)
            report = _report(spec, resolved, rows)
            write_text(directory.path / "utility.csv", write_csv(rows))
            keep_record(report, build_utility(report), directory, say)
    except KeyboardInterrupt:
        raise Incomplete(
            f"interrupted: finished parts are kept in {directory.path / FOLDER}; run the same command again to resume"
        ) from None
    return dataclasses.replace(report, run_directory=str(directory.path), pdf=str(directory.pdf))


def condensed_sets(spec: Utility, where: Where, say: Callable[[str], None]) -> list[SyntheticSet]:
    """The sets of the first seed that `run_utility` trains on, one for each method, size and ε; made if they are not.

    Where images started from records they may show them: such sets are left out.
    """
    resolved = resolve_utility(spec, where.data_root)
    directory = RunDirectory(where.out)
    cells = Cells(directory.path, where.executor, say)
    bench = Bench(
        resolved.source,
        resolved.split,
        resolved.recipe,
        match="none",
        subset=False,
        full=False,
        folder=directory.path,
        cells=cells,
        say=say,
    )
    with directory.held():
        made = bench.condense(resolved.plans, one_set=spec.one_set)
    found = []
    for candidate, (condensation, _) in zip(made, resolved.plans, strict=True):
        if vars(condensation.config).get("init") == "real" or candidate.name == "real":
            continue
        kept = candidate.sets.cells[0].read(directory.path)
        found.append(
            SyntheticSet(
                name=candidate.name,
                images=kept["images"][0],
                labels=kept["labels"][0],
                normalisation="symmetric",
                num_sets=1,
                label=None,
            )
        )
    return found


def _measure(
    spec: Utility, resolved: Resolved, directory: RunDirectory, where: Where, say: Callable[[str], None]
) -> list[tuple[UtilityRow, Seconds]]:
    """The rows: every candidate on every network, from finished cells as far as there are any."""
    cells = Cells(directory.path, where.executor, say)
    bench = Bench(
        resolved.source,
        resolved.split,
        resolved.recipe,
        match=spec.match,
        subset=spec.subset,
        full=spec.full,
        folder=directory.path,
        cells=cells,
        say=say,
    )
    candidates = [
        *(bench.keep(synthetic) for synthetic in resolved.released),
        *bench.condense(resolved.plans, one_set=spec.one_set),
    ]
    rows = bench.rows(candidates, resolved.architectures)
    if cells.num_found:
        say(f"{cells.num_found} of {cells.num_found + cells.num_computed} parts were finished before")
    return rows


def _report(spec: Utility, resolved: Resolved, rows: list[tuple[UtilityRow, Seconds]]) -> UtilityReport:
    split, recipe, released = resolved.split, resolved.recipe, list(resolved.released)
    networks = [recipe.network(name, split.train) for name in resolved.architectures]
    sets = [tensor_digest(synthetic.images, synthetic.labels) for synthetic in released]
    config = {**facts_of(spec), "synthetic": [synthetic.name for synthetic in released]}
    return UtilityReport(
        command=spec.command(),
        dataset=split.train.name,
        preset=spec.preset,
        seed=spec.seed,
        delta=spec.delta,
        train_records=split.train.num_records,
        test_records=split.test.num_records,
        official_test_split=split.official,
        training=dataclasses.asdict(recipe.training),
        networks={network.name: network.num_parameters for network in networks},
        names={name: NAMES[name] for name in resolved.architectures},
        rows=tuple(row for row, _ in rows),
        notes=(
            *_split_notes(split, released),
            *_recipe_notes(recipe, [network.name for network in networks if network.resizes], resolved.architectures),
            *_interval_notes(recipe, one_set=spec.one_set, released=bool(released), condensed=bool(resolved.plans)),
        ),
        config=config,
        versions=versions(None),
        digest=digest_of_record(config, resolved.source.train, resolved.source.test, *sets),
        run_directory=".",
        pdf="report.pdf",
    )


def _split_notes(split: Split, released: list[SyntheticSet]) -> list[str]:
    test = split.test.num_records
    notes = [
        f"Tested on the official test split, {test} records."
        if split.official
        else f"Tested on a quarter of the records, {test}, drawn with a fixed key and not condensed."
    ]
    for synthetic in released:
        several = f"; the file holds {synthetic.num_sets} sets" if synthetic.num_sets > 1 else ""
        notes.append(f"{synthetic.name}: pixels read as {synthetic.normalisation}{several}.")
        unseen = split.official or (synthetic.label or {}).get("held_out_quarter") is True
        if not unseen:
            notes.append(
                f"{synthetic.name} may have been made from the records it is tested on: its accuracy may be too high."
            )
    return notes


def _recipe_notes(recipe: Recipe, enlarged: list[str], architectures: tuple[str, ...]) -> list[str]:
    notes = [
        f"On sets above {WHOLE_RECIPE} images, networks train for as many steps as on {WHOLE_RECIPE}, but at least "
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
                "all trained on one condensation, so it does not cover the variation over condensations."
                if one_set
                else "each on a condensation of its own."
            )
        )
    if released:
        notes.append(f"± of a released set is the deviation over {recipe.seeds} networks on that one set.")
    return notes
