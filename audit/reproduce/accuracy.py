"""Cells whose figure is the accuracy of networks trained on a set: the labels of a row say what is condensed."""

from collections.abc import Mapping
from typing import Literal

from audit.data.catalog import BY_NAME
from audit.reproduce.cells import PlannedCell, accuracy_of
from audit.reproduce.overrides import known_settings
from audit.reproduce.scales import (
    UNLIKE,
    counted,
    data_of,
    differences,
    epochs_of,
    in_paper,
    num_seeds,
    preset_of,
    scale_settings,
    size_of,
    steps_of,
    variant_of,
    victims_of,
)
from audit.reproduce.tables import Label, PublishedCell, label_text
from audit.specs.reproduce import Reproduce
from audit.specs.utility import Utility
from condensers.published import Circumstance, published_values

# Labels that stand for a setting of the method.
SYMBOLS = {
    "C": "clip",
    "sigma": "noise_multiplier",
    "L": "batch",
    "extractor": "extractor",
    "I": "iterations",
    "R": "iterations",
}
STEPS = ("I", "R")
SMOKE_NETWORKS = {"vgg11": "lenet", "resnet18": "lenet", "alexnet": "lenet"}


def plan_accuracy(
    asked: Reproduce,
    cell: PublishedCell,
    row: Mapping[str, str] | None = None,
    *,
    instead: Mapping[str, str] | None = None,
    preset: str = "paper",
) -> PlannedCell:
    """The set that the labels name, and networks on it.

    `row` are further settings that the paper has for the row, such as those of the table's own paper where the preset
    is another's; `instead` are ours where they are not the row's.
    """
    labels = cell.labels
    method, variant = variant_of(str(labels["method"]))
    dataset = str(labels["dataset"])
    row = {
        **{SYMBOLS[name]: label_text(value) for name, value in labels.items() if name in SYMBOLS},
        **variant,
        **(row or {}),
    }
    settings = {
        **scale_settings(asked, method),
        **row,
        **_shortened(asked, labels, method),
        **(instead or {}),
        **known_settings(asked.settings, method),
    }
    network = str(labels.get("network", "convnet"))
    trained = SMOKE_NETWORKS.get(network, network) if asked.scale == "smoke" else network
    name, records = data_of(asked, dataset)
    epochs = epochs_of(asked)
    ipc = images_per_class(asked, labels, method, dataset, preset)
    epsilon = float(labels["epsilon"]) if "epsilon" in labels and "noise_multiplier" not in settings else None
    spec = Utility(
        methods=(method,),
        dataset=name,
        records=records,
        ipc=(size_of(asked, ipc),),
        epsilon=() if epsilon is None else (epsilon,),
        init=_init(labels),
        preset=preset_of(asked, preset),  # type: ignore[arg-type]
        settings={**settings, **victims_of(asked)},
        architectures=(trained,),  # type: ignore[arg-type]
        seeds=num_seeds(asked),
        epochs=epochs,
        match="none",
        subset=False,
        full=False,
        seed=asked.seed,
        device=asked.device,
    )
    more = {}
    if epochs is not None:
        more["networks"] = f"trained for {counted(epochs, 'epoch')}, {counted(num_seeds(asked), 'seed')}"
    if size_of(asked, ipc) != ipc:
        more["images per class"] = f"{size_of(asked, ipc)} instead of {ipc}"
    if trained != network:
        more["network"] = f"{trained} in place of {network}"
    ratio = float(labels["ratio"]) if "ratio" in labels else None
    paper = in_paper(method, preset, Circumstance(dataset=dataset, ipc=ipc, ratio=ratio, epsilon=epsilon), row)
    said = differences(asked, dataset=dataset, settings=settings, paper=paper, more=more)
    unlike = [UNLIKE[str(labels["method"])]] if labels["method"] in UNLIKE else []
    return PlannedCell(published=cell, spec=spec, read=accuracy_of, differs=(*said, *unlike))


def _shortened(asked: Reproduce, labels: Mapping[str, Label], method: str) -> dict[str, str]:
    """Settings of the row that the scale makes smaller."""
    found = {}
    for name in STEPS:
        if name in labels:
            found["iterations"] = str(steps_of(asked, method, int(labels[name])))
    if "L" in labels and asked.scale == "smoke":
        found["batch"] = str(max(1, round(int(labels["L"]) / 5)))
    return found


def images_per_class(asked: Reproduce, labels: Mapping[str, Label], method: str, dataset: str, preset: str) -> int:
    """As the row says, by number or by ratio; else what the preset of the paper has."""
    for name in ("ipc", "M"):
        if name in labels:
            return int(labels[name])
    if "ratio" in labels:
        return images_of_ratio(asked, float(labels["ratio"]), dataset)
    return int(published_values(method, preset, Circumstance(dataset=dataset)).get("ipc", 50))


def images_of_ratio(asked: Reproduce, ratio: float, dataset: str) -> int:
    """Of Dong et al.: the nearest number to the ratio, at least 1."""
    return max(1, round(ratio * records_of_ratio(asked, dataset)))


def records_of_ratio(asked: Reproduce, dataset: str) -> float:
    """What a ratio of Dong et al. is of: 6000 records per class of FashionMNIST, 5000 of the others, or what --records
    has; of these the half that is condensed, or all.
    """
    per_class: float = 6000 if dataset == "fashion-mnist" else 5000
    if asked.records is not None:
        per_class = asked.records / BY_NAME[dataset].num_classes
    return per_class * (0.5 if asked.ratio_of == "members" else 1.0)


def _init(labels: Mapping[str, Label]) -> Literal["real"] | None:
    return "real" if labels.get("init") == "real" else None
