"""From a published item to what is run for each of its figures."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from audit.reproduce.accuracy import plan_accuracy
from audit.reproduce.attacks import (
    DONG,
    plan_gan_leak,
    plan_lira,
    plan_loss,
    plan_nearest,
    plan_victims,
    rate_of,
    records_of,
)
from audit.reproduce.cells import PlannedCell, distance_left, epsilon_of, stage_of
from audit.reproduce.overrides import known_settings, refuse_unused, settings_taken
from audit.reproduce.scales import (
    STAND_IN,
    counted,
    data_of,
    differences,
    epochs_of,
    in_paper,
    num_seeds,
    preset_of,
    scale_settings,
    size_of,
    victims_of,
)
from audit.reproduce.tables import PublishedCell, PublishedItem, label_text, published_item
from audit.reproduce.zhao_zhang import plan_protocol
from audit.specs.account import Account
from audit.specs.continual import Continual
from audit.specs.reproduce import Reproduce
from audit.specs.theory import Theory
from condensers.errors import BadConfig
from condensers.published import Circumstance

Planner = Callable[[Reproduce, PublishedCell], PlannedCell]
Cells = tuple[PublishedCell, ...]
# Records, images per class and steps.
THEORY = {"smoke": (200, (2,), 30), "reduced": (2000, (25, 50), 300), "full": (50_000, (50, 100), 20_000)}
FINER_ORDERS = ("Rényi orders on a finer grid than that of Opacus, which gives a smaller ε or the same",)
SAMPLES, OPTIMISATION_STEPS = 10_000, 200_000  # of Dosser, section 4.1: I₁ and I₂
# Zheng & Li run DM by their own code, whose pixels are in [−1, 1] (SecMLSys/Differentially-Private-Dataset-Condensation
# at a20cf59, main_DM.py and utils.py, get_dataset); the preset of DM is that of its authors' code.
DM_OF_ZHENG_AND_LI = {"normalisation": "half", "victim.normalisation": "half"}


def plan_item(asked: Reproduce, item: PublishedItem) -> tuple[PlannedCell, ...]:
    """What is run for every figure that was asked for; at scale smoke, those of one data set and ratio."""
    cells = chosen_cells(asked, item)
    planner = PLANNERS.get(item.name, plan_accuracy)
    planned = tuple(planner(asked, cell) for cell in cells)
    refuse_unused(asked.settings, settings_taken(planned), item.name)
    return planned


def share_settings(asked: Sequence[Reproduce]) -> tuple[Reproduce, ...]:
    """Items that were given the same settings: each keeps those that it has, and one that none has is refused."""
    without = [one.but(settings={}) for one in asked]
    taken = [settings_taken(plan_item(one, published_item(one.item))) for one in without]
    refuse_unused(asked[0].settings, frozenset().union(*taken), "any item")
    return tuple(
        one.but(settings={name: value for name, value in one.settings.items() if name in own})
        for one, own in zip(asked, taken, strict=True)
    )


def chosen_cells(asked: Reproduce, item: PublishedItem) -> tuple[PublishedCell, ...]:
    """Figures that options leave; at scale smoke, of these those of the first data set and ratio."""
    cells = item.cells
    wanted = {"--dataset": {"dataset": asked.datasets}, "--method": {"method": asked.methods}, "--only": _only(asked)}
    for option, by_name in wanted.items():
        for name, values in by_name.items():
            left = cells
            if values:
                cells = tuple(each for each in left if name in each.labels and label_text(each.labels[name]) in values)
            if not cells:
                raise BadConfig(_not_there(item, option, name, values, left))
    if asked.scale != "smoke":
        return cells
    for name in ("dataset", "ratio"):
        first = next((cell.labels[name] for cell in cells if name in cell.labels), None)
        cells = tuple(cell for cell in cells if cell.labels.get(name, first) == first)
    return cells


def _only(asked: Reproduce) -> dict[str, tuple[str, ...]]:
    """What --only says, by label."""
    wanted: dict[str, tuple[str, ...]] = {}
    for told in asked.only:
        name, sign, value = told.partition("=")
        if not (name and sign and value):
            raise BadConfig(f"--only {told}: must be NAME=VALUE, such as ipc=10")
        wanted[name] = (*wanted.get(name, ()), _as_label(value))
    return wanted


def _as_label(told: str) -> str:
    """As a label is written, so that 10 and 10.0 are the same."""
    try:
        return label_text(float(told))
    except ValueError:
        return told


def _not_there(item: PublishedItem, option: str, name: str, values: Collection[str], left: Cells) -> str:
    """What an option asked for, and what the item has of it among the figures that other options left."""
    there = dict.fromkeys(label_text(cell.labels[name]) for cell in left if name in cell.labels)
    before = f"{name}=" if option == "--only" else ""
    told, found = (", ".join(before + value for value in each) for each in (values, there))
    return f"{option} {told}: not in {item.name}, which has {found or f'no {name}'}"


def _plan_dong_pictures(asked: Reproduce, cell: PublishedCell) -> PlannedCell:
    """Figure 6: extractors with an embedding of 2048 dimensions."""
    narrow = {"width": "64"} if asked.scale == "smoke" else {}
    return plan_accuracy(asked, cell, {"width": "2048"}, instead={"learning_rate": "0.05", **narrow})


def _plan_map(asked: Reproduce, cell: PublishedCell) -> PlannedCell:
    """Figure 9: the sets of Dong et al., of a half of the records where their number is known before they are read."""
    method, dataset, ratio = str(cell.labels["method"]), str(cell.labels["dataset"]), float(cell.labels["ratio"])
    planned = plan_accuracy(asked, cell, instead=rate_of(asked, method, DONG, ratio, dataset), preset=DONG)
    if asked.scale == "smoke":
        return planned
    records = records_of(asked, dataset)
    if records is None:
        return replace(planned, differs=(*planned.differs, "all records are condensed instead of half of them"))
    return replace(planned, spec=planned.spec.but(records=records // 2))


def _plan_theory(asked: Reproduce, cell: PublishedCell) -> PlannedCell:
    """Figure 7: distribution matching watched step by step."""
    records, ipc, iterations = THEORY[asked.scale]
    dataset = STAND_IN if asked.scale == "smoke" else str(cell.labels["dataset"])
    spec = Theory(dataset=dataset, records=records, ipc=ipc, iterations=iterations, seed=asked.seed)
    differs = (
        ()
        if asked.scale == "full"
        else (f"{records} records of {dataset}, {' and '.join(map(str, ipc))} images per class, {iterations} steps",)
    )
    read = distance_left(str(cell.labels["extractor"]), str(cell.labels["init"]))
    return PlannedCell(published=cell, spec=spec, read=read, differs=differs)


def _plan_table_1(asked: Reproduce, cell: PublishedCell) -> PlannedCell:
    """Zheng & Li, Table I: accuracies, and budgets by the accountant, which needs no data."""
    if cell.labels["quantity"] == "accuracy":
        return plan_accuracy(asked, cell, DM_OF_ZHENG_AND_LI if cell.labels["method"] == "dm" else None)
    spec = Account(method=str(cell.labels["method"]), dataset=cell.labels["dataset"])  # type: ignore[arg-type]
    return PlannedCell(published=cell, spec=spec, read=epsilon_of, differs=FINER_ORDERS)


def _plan_budget(asked: Reproduce, cell: PublishedCell) -> PlannedCell:  # noqa: ARG001
    """Zheng & Li, Figure 2: by the accountant, at every scale."""
    spec = Account(
        method="ndpdc",
        dataset=cell.labels["dataset"],  # type: ignore[arg-type]
        batch=int(cell.labels["L"]),
        steps=int(cell.labels["I"]),
        noise_multiplier=float(cell.labels["sigma"]),
    )
    return PlannedCell(published=cell, spec=spec, read=epsilon_of, differs=FINER_ORDERS)


def _plan_continual(asked: Reproduce, cell: PublishedCell) -> PlannedCell:
    """PSG, C.5: R = 200 at every budget."""
    method, dataset = str(cell.labels["method"]), str(cell.labels["dataset"])
    name, records = data_of(asked, dataset)
    epsilon, ipc = float(cell.labels["epsilon"]), 10
    row = {"iterations": "200"} if method == "psg" else {}
    few = {"batch": "16"} if asked.scale == "smoke" and method == "psg" else {}  # a stage has 46 records then
    settings = {**row, **scale_settings(asked, method), **few, **known_settings(asked.settings, method)}
    epochs = epochs_of(asked)
    spec = Continual(
        method=method,
        dataset=name,
        records=records,
        ipc=size_of(asked, ipc),
        epsilon=epsilon,
        preset=preset_of(asked),  # type: ignore[arg-type]
        settings={**settings, **victims_of(asked)},
        seeds=num_seeds(asked),
        epochs=epochs,
        seed=asked.seed,
        device=asked.device,
    )
    more = {} if epochs is None else {"networks": f"trained for {counted(epochs, 'epoch')}"}
    if size_of(asked, ipc) != ipc:
        more["images per class"] = f"{size_of(asked, ipc)} instead of {ipc}"
    paper = in_paper(method, "paper", Circumstance(dataset=dataset, ipc=ipc, epsilon=epsilon), row)
    differs = differences(asked, dataset=dataset, settings=settings, paper=paper, more=more)
    return PlannedCell(published=cell, spec=spec, read=stage_of(int(cell.labels["stage"])), differs=differs)


def _plan_ablation(asked: Reproduce, cell: PublishedCell) -> PlannedCell:
    """Dosser, Table 2, with PEA: without DOS there are as many optimisation steps as samples (section 4.3.2)."""
    ipc, epsilon = str(cell.labels["ipc and ε"]).split(", ")
    row = {"pea": "true", "ser": "true" if cell.labels["SER"] == "yes" else "false"}
    instead: dict[str, str] = {}
    if cell.labels["DOS"] == "no":
        row["optimisation_steps"], instead = str(SAMPLES), _optimisation_steps(asked, SAMPLES)
    return _plan_dosser(asked, cell, row, instead, ipc=int(ipc), epsilon=float(epsilon))


def _plan_dosser_sweep(asked: Reproduce, cell: PublishedCell) -> PlannedCell:
    """Dosser, Figure 4."""
    varied, value = str(cell.labels["varied"]), int(cell.labels["value"])
    row = {"pea": "true", varied.replace(" ", "_"): str(value)}
    instead: dict[str, str] = {}
    if varied == "optimisation steps":
        instead = _optimisation_steps(asked, value)
    elif asked.scale == "smoke":
        instead = {varied.replace(" ", "_"): str(max(2, value // 50))}
    elif varied == "subspace" and value >= 1000:
        instead = {"auxiliary_images": "2000"}  # the dimension is below the number of auxiliary images
    return _plan_dosser(asked, cell, row, instead, ipc=int(cell.labels["ipc"]), epsilon=1.0)


def _optimisation_steps(asked: Reproduce, value: int) -> dict[str, str]:
    """As many as samples without DOS; others lie between those and the scale's in the same proportion."""
    scale, told = scale_settings(asked, "dosser"), asked.settings.get("iterations", "")
    fewest = int(told if told.isdecimal() else scale.get("iterations", SAMPLES))
    most = int(scale.get("optimisation_steps", OPTIMISATION_STEPS))
    share = (value - SAMPLES) / (OPTIMISATION_STEPS - SAMPLES)
    return {"optimisation_steps": str(round(fewest + share * (most - fewest)))}


def _plan_dosser(
    asked: Reproduce,
    cell: PublishedCell,
    row: dict[str, str],
    instead: dict[str, str],
    *,
    ipc: int,
    epsilon: float,
) -> PlannedCell:
    labels = {"method": "dosser", "dataset": cell.labels["dataset"], "ipc": ipc, "epsilon": epsilon}
    return replace(plan_accuracy(asked, replace(cell, labels=labels), row, instead=instead), published=cell)


PLANNERS: dict[str, Planner] = {
    "dong/table-1": plan_loss("Table 1", "real"),
    "dong/table-2": plan_loss("Table 2", None),
    "dong/table-3": plan_victims,
    "dong/table-4": plan_gan_leak,
    "dong/figure-2": plan_lira,
    "dong/figure-3": plan_victims,
    "dong/figure-4": plan_victims,
    "dong/figure-5": plan_nearest,
    "dong/figure-6": _plan_dong_pictures,
    "dong/figure-7": _plan_theory,
    "dong/figure-8": plan_loss("Table 1", "real"),
    "dong/figure-9": _plan_map,
    "dong/figure-10": plan_victims,
    "zheng-li/table-1": _plan_table_1,
    "zheng-li/figure-2": _plan_budget,
    "psg/continual": _plan_continual,
    "dosser/table-2": _plan_ablation,
    "dosser/figure-4": _plan_dosser_sweep,
    "zhao-zhang/protocol": plan_protocol,
}
