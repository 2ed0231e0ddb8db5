"""Class-incremental learning (Chen, Kerkouche, Fritz, supplementary C.5): classes arrive in stages, and what is passed
on from a stage is a synthetic set of its classes, condensed from its records alone. After each stage a network is
drawn anew, trained on the sets of all stages so far, and tested on all classes seen so far.

The noise of a private method is calibrated to each stage's records. Every record belongs to one stage, so the whole
keeps to the budget of a stage. The order of ten classes is that of the released code (DingfanChen/Private-Set at
8277ee2, continual_learning/configs/MNIST_default.yml).

A unit of work is the set of one stage and seed, or the networks after one stage.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from audit.data.split import Split
from audit.engine.cells import Cell, Cells
from audit.engine.pages import keep_record
from audit.engine.progress import ProgressBar
from audit.engine.store import RunDirectory, explain_failure
from audit.engine.where import Where
from audit.games import settings
from audit.games.condensation import resolve_condensation
from audit.games.settings import digest_of_record, facts_of, own_settings, versions
from audit.games.utility.resolve import check_settings, resolve_recipe
from audit.games.utility.training import Measurement, Recipe, measure
from audit.games.utility.work import THREADS, CondenseWork, Order, Source, digests_of, load_on
from audit.specs.continual import Continual
from audit.specs.utility import Utility
from condensers.errors import BadConfig
from condensers.pool import Pool
from condensers.registry import get_method, require_set
from reports.documents.continual import build_continual
from reports.records.utility import ContinualReport, Stage

OFFICIAL_ORDER = (5, 6, 1, 2, 0, 8, 9, 3, 4, 7)


@dataclass(frozen=True, kw_only=True)
class StageSource(Source):
    """The records of some classes, numbered anew from 0 in the order in which they are given."""

    classes: tuple[int, ...] = ()

    def load(self) -> Split:
        """The records of these classes, if the data are still those."""
        whole = load_on(self.dataset, self.data_root, self.records, self.device)
        return Split(
            train=only_classes(whole.train, self.classes),
            test=only_classes(whole.test, self.classes),
            official=whole.official,
        )


def only_classes(pool: Pool, classes: tuple[int, ...]) -> Pool:
    """Records of these classes, sorted by their new numbers."""
    parts = [(pool.labels == label).nonzero().flatten() for label in classes]
    index = torch.cat(parts)
    labels = torch.cat([torch.full_like(part, number) for number, part in enumerate(parts)])
    return replace(pool, images=pool.images[index], labels=labels, num_classes=len(classes))


@dataclass(frozen=True, kw_only=True)
class StageWork:
    """Networks after every stage, trained on the sets so far."""

    source: Source
    recipe: Recipe
    seen: tuple[tuple[int, ...], ...]
    sets: tuple[tuple[tuple[Cell, ...], ...], ...]
    cells: tuple[Cell, ...]

    @property
    def device(self) -> str:
        """That of the records."""
        return self.source.device

    def load(self) -> Split:
        """All records."""
        return self.source.load()

    def compute(self, split: Split, unit: int, folder: Path, report: Callable[[float], None]) -> None:
        """The networks of all seeds after one stage."""
        torch.set_num_threads(THREADS)
        test = only_classes(split.test, self.seen[unit])
        images, labels = _joined(self.sets[: unit + 1], folder)
        images, labels = images.to(test.images.device), labels.to(test.images.device)
        tracker = self.cells[unit].tracker(folder, report, "train")
        found = measure(self.recipe, "convnet", images, labels, test, tracker.track)
        self.cells[unit].write(folder, asdict(found))
        self.cells[unit].clear(folder)
        report(1.0)

    def file(self, unit: int) -> str:
        """The cell's."""
        return self.cells[unit].file


def _joined(stages: tuple[tuple[tuple[Cell, ...], ...], ...], folder: Path) -> tuple[Tensor, Tensor]:
    """Sets `[seeds, m, …]` of all stages one after the other, their labels numbered on."""
    images, labels, first = [], [], 0
    for cells in stages:
        kept = [cell.read(folder) for (cell,) in cells]
        images.append(torch.cat([found["images"] for found in kept]))
        own = torch.cat([found["labels"] for found in kept])
        own = own.argmax(-1) if own.ndim == 3 else own
        labels.append(own + first)
        first += int(own.max()) + 1
    return torch.cat(images, 1), torch.cat(labels, 1)


def run_continual(spec: Continual, where: Where, say: Callable[[str], None]) -> ContinualReport:
    """Condense every stage, train after every stage; the record, which is also written beside its pages."""
    method, changes = get_method(spec.method), own_settings(spec.settings)
    require_set(method, "networks are not passed on here")
    check_settings(changes, [method])
    device = settings.resolve_device(spec.device)
    split = load_on(spec.dataset, where.data_root, spec.records, device)
    order = OFFICIAL_ORDER if split.train.num_classes == len(OFFICIAL_ORDER) else tuple(range(split.train.num_classes))
    each, left = divmod(len(order), spec.stages)
    if left or not each:
        raise BadConfig(f"--stages {spec.stages}: {len(order)} classes cannot be divided equally among them")
    classes = [order[start : start + each] for start in range(0, len(order), each)]
    directory = RunDirectory(where.out)
    with explain_failure(directory.path):
        directory.path.mkdir(parents=True, exist_ok=True)
    cells = Cells(directory.path, where.executor, say)
    train, test = digests_of(split)
    own: dict[str, Any] = {
        "dataset": spec.dataset,
        "data_root": where.data_root,
        "records": spec.records,
        "device": device,
    }
    as_utility = Utility(
        methods=(spec.method,), preset=spec.preset, settings=spec.settings, seeds=spec.seeds, epochs=spec.epochs,
        seed=spec.seed,
    )  # fmt: skip
    recipe = resolve_recipe(as_utility, split, changes, [method])
    made = []
    with directory.held():
        for number, labels in enumerate(classes, start=1):
            source = StageSource(**own, train=train, test=test, classes=labels)
            part = source.load()
            condensation = resolve_condensation(
                method, part.train, preset=spec.preset, ipc=spec.ipc, init=None, epsilon=spec.epsilon,
                delta=spec.delta, changes=changes,
            )  # fmt: skip
            orders = tuple(
                Order(
                    method=method.name,
                    config=dict(vars(condensation.config)),
                    class_sizes=condensation.class_sizes,
                    run=run,
                )
                for run in range(spec.seeds)
            )
            # The classes are in the digest of the data that the cells are named by.
            named = replace(source, train=f"{train} classes {labels}")
            work = CondenseWork.of(named, spec.seed, orders)
            with ProgressBar(f"stage {number}: condensing {spec.seeds}", dict.fromkeys(range(len(orders)), 1)) as bar:
                cells.gather(work, part, bar.update, found=lambda unit, bar=bar: bar.update(unit, 1.0))  # type: ignore[misc]
            made.append(tuple((cell,) for cell in work.cells))
        seen = tuple(order[: each * (number + 1)] for number in range(spec.stages))
        facts = {
            "kind": "continual", "recipe": asdict(recipe), "test": test, "device": device, "threads": THREADS,
            "versions": versions(method),
        }  # fmt: skip
        named_cells = tuple(
            Cell.of({**facts, "sets": [cell.digest for stage in made[: place + 1] for (cell,) in stage]}, "numbers")
            for place in range(spec.stages)
        )
        trainings = StageWork(
            source=Source(**own, train=train, test=test),
            recipe=recipe,
            seen=seen,
            sets=tuple(made),
            cells=named_cells,
        )
        with ProgressBar("training after each stage", dict.fromkeys(range(spec.stages), 1)) as bar:
            found = cells.gather(trainings, split, bar.update, found=lambda unit: bar.update(unit, 1.0))
        config = facts_of(spec)
        report = ContinualReport(
            command=spec.command(),
            method=method.name,
            dataset=spec.dataset,
            epsilon=spec.epsilon,
            delta=spec.delta,
            test_records=split.test.num_records,
            stages=tuple(
                Stage(stage=place + 1, classes=seen[place], accuracy=Measurement.kept(one).record())
                for place, one in enumerate(found)
            ),
            config=config,
            versions=versions(method),
            digest=digest_of_record(config, train, test),
            run_directory=".",
            pdf="report.pdf",
        )
        keep_record(report, build_continual(report), directory, say)
    return replace(report, run_directory=str(directory.path), pdf=str(directory.pdf))
