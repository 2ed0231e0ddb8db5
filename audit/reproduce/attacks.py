"""Cells of Dong et al. whose figure comes from an attack: the loss attack, LiRA, GAN-leak and the nearest records.

The paper's runs have randomness of their own, which costs most of what shared randomness saves: that is kept at scale
full, and for the few runs of the loss attack at scale reduced.
"""

from typing import Any

from audit.reproduce.accuracy import images_of_ratio, records_of_ratio
from audit.reproduce.cells import (
    PlannedCell,
    accuracy_of_victims,
    advantage_of,
    auc_of,
    auc_percent_of,
    members_among_nearest,
)
from audit.reproduce.overrides import known_settings
from audit.reproduce.scales import (
    EPOCHS_SETTING,
    SMOKE_RECORDS,
    counted,
    data_of,
    differences,
    epochs_of,
    in_paper,
    preset_of,
    scale_settings,
    variant_of,
    victims_of,
)
from audit.reproduce.tables import PublishedCell
from audit.specs.membership import GanLeak, Lira, Loss
from audit.specs.pictures import Visual
from audit.specs.reproduce import Reproduce
from condensers.published import Circumstance, published_values

DONG = "dong"
SMOKE_IMAGES = 2
RUNS = {"smoke": 4, "reduced": 4, "full": 10}
SHADOWS = {"smoke": 32, "reduced": 32, "full": 256}
SHADOWS_OF_KIP = {"smoke": 32, "reduced": 32, "full": 64}
SMOKE_POOL = 100  # records, where every record needs fit runs with it and without it
CELEBA_RECORDS = 10_000  # section 5.1: 5000 of each class


def plan_loss(table: str, init: str | None) -> Any:
    """The advantage of the loss attack by the protocol of a table."""

    def plan(asked: Reproduce, cell: PublishedCell) -> PlannedCell:
        own, differs = _common(asked, cell, init=init)
        spec = Loss(**own, shadows=asked.seeds or RUNS[asked.scale], independent_randomness=asked.scale != "smoke")
        return PlannedCell(published=cell, spec=spec, read=advantage_of(table), differs=differs)

    return plan


def plan_victims(asked: Reproduce, cell: PublishedCell) -> PlannedCell:
    """The accuracy of the networks that the loss attack looks at, on records that their runs left out."""
    init = "real" if cell.labels.get("init") == "real" else None
    table = "Table 1" if init else "Table 2"
    planned = plan_loss(table, init)(asked, cell)
    differs = (*planned.differs, "tested on records that a run left out")
    return PlannedCell(published=cell, spec=planned.spec, read=accuracy_of_victims, differs=differs)


def plan_lira(asked: Reproduce, cell: PublishedCell) -> PlannedCell:
    """The AUC of LiRA against the trained network."""
    own, differs = _common(asked, cell, init=None, pool=SMOKE_POOL)
    shadows = (SHADOWS_OF_KIP if own["method"] == "kip" else SHADOWS)[asked.scale]
    if asked.scale != "full":
        differs = (*differs, "runs share their public randomness")
    spec = Lira(**own, shadows=asked.seeds or shadows, independent_randomness=asked.scale == "full")
    return PlannedCell(published=cell, spec=spec, read=auc_of, differs=differs)


def plan_gan_leak(asked: Reproduce, cell: PublishedCell) -> PlannedCell:
    """The AUC of GAN-leak against conditional GANs."""
    own, differs = _common(asked, cell, init=None, pool=SMOKE_POOL)
    settings = {"attack.starts": "2", "attack.steps": "5"} if asked.scale == "smoke" else {}
    own["settings"] = {**own["settings"], **settings}
    shadows = {"smoke": 16, "reduced": 32, "full": 40}[asked.scale]
    spec = GanLeak(**own, shadows=asked.seeds or shadows)
    return PlannedCell(published=cell, spec=spec, read=auc_percent_of, differs=differs)


def plan_nearest(asked: Reproduce, cell: PublishedCell) -> PlannedCell:
    """How many of the nearest records of synthetic images are members."""
    own, differs = _common(asked, cell, init=None, networks=False)
    settings = {name: value for name, value in own.pop("settings").items() if not name.startswith("victim.")}
    runs = asked.seeds or RUNS[asked.scale]
    spec = Visual(**own, settings=settings, distances=("l2",), runs=runs)
    return PlannedCell(published=cell, spec=spec, read=members_among_nearest, differs=differs)


def _common(
    asked: Reproduce, cell: PublishedCell, *, init: str | None, pool: int | None = None, networks: bool = True
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What all attacks are asked for, and what of it is otherwise than in the paper."""
    labels = cell.labels
    method, variant = variant_of(str(labels["method"]))
    dataset = str(labels.get("dataset", "fashion-mnist"))
    private = "epsilon" in labels
    preset = "paper" if private else DONG
    ratio = float(labels.get("ratio", 0.002))
    name, _ = data_of(asked, dataset)
    ipc = images_of_ratio(asked, ratio, dataset)
    epsilon = float(labels["epsilon"]) if private else None
    paper = in_paper(method, preset, Circumstance(dataset=dataset, ipc=ipc, ratio=ratio, epsilon=epsilon), variant)
    settings = {**rate_of(asked, method, preset, ratio, dataset), **scale_settings(asked, method), **variant}
    settings |= known_settings(asked.settings, method)
    epochs = epochs_of(asked)
    victims = {**victims_of(asked), **({} if epochs is None else {EPOCHS_SETTING: str(epochs)})}
    own: dict[str, Any] = {
        "method": method,
        "dataset": name,
        "records": (pool or SMOKE_RECORDS) if asked.scale == "smoke" else records_of(asked, dataset),
        "ipc": SMOKE_IMAGES if asked.scale == "smoke" else ipc,
        "init": None if method in ("real", "cgan") else init,
        "preset": preset_of(asked, preset),
        "settings": {**settings, **victims},
        "epsilon": epsilon if "noise_multiplier" not in settings else None,
        "seed": asked.seed,
        "device": asked.device,
    }
    more = {"networks": f"trained for {counted(epochs, 'epoch')}"} if networks and epochs is not None else {}
    if asked.scale == "smoke":
        more["images per class"] = f"{SMOKE_IMAGES} instead of {ipc}"
    elif asked.records is not None:
        more["images per class"] = f"{ipc}, r = {ipc / records_of_ratio(asked, dataset):.2g}"
    said = differences(
        asked,
        dataset=dataset,
        settings=settings,
        paper=paper,
        more=more,
        networks=networks,
        smoke_records=pool or SMOKE_RECORDS,
    )
    return own, said


def records_of(asked: Reproduce, dataset: str) -> int | None:
    """Of which half is condensed: what --records has, else those of section 5.1; None: all."""
    return CELEBA_RECORDS if dataset == "celeba-64" and asked.records is None else asked.records


def rate_of(asked: Reproduce, method: str, preset: str, ratio: float, dataset: str) -> dict[str, str]:
    """The learning rate that is printed for a ratio, if any, as a setting; the quick preset of smoke has its own."""
    printed = published_values(method, preset, Circumstance(dataset=dataset, ratio=ratio)).get("learning_rate")
    if printed is None or asked.scale == "smoke":
        return {}
    return {"learning_rate": f"{printed * _fewer_images(asked, method, ratio, dataset):.3g}"}


def _fewer_images(asked: Reproduce, method: str, ratio: float, dataset: str) -> float:
    """The factor of DM's learning rate where --records makes fewer images of a ratio.

    The printed rate belongs to the printed ratio, whatever the ratio is of. DM's loss compares means over the images of
    a class, so an image moves in proportion to the rate over the images per class: 5/3 at every ratio that is printed
    (E.1), which is kept. KIP's Adam does not depend on the scale of gradients, and DSA's code has one rate for all.
    """
    if method != "dm" or asked.records is None:
        return 1.0
    return images_of_ratio(asked, ratio, dataset) / images_of_ratio(asked.but(records=None), ratio, dataset)
