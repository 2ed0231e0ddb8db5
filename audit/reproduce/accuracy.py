"""Cells whose figure is the accuracy of networks trained on a set: the labels of a row say what is condensed."""

from collections.abc import Mapping
from typing import Literal

from audit.data.catalog import BY_NAME
from audit.reproduce.cells import PlannedCell, accuracy_of
from audit.reproduce.scales import (
    VARIANTS,
    data_of,
    differences,
    epochs_of,
    num_seeds,
    preset_of,
    scale_settings,
    size_of,
    steps_of,
    victims_of,
)
from audit.reproduce.tables import Label, PublishedCell, label_text
from audit.specs.reproduce import Reproduce
from audit.specs.utility import Utility
from condensers.published import Circumstance, published_values

# Labels that stand for a setting of the method.
SYMBOLS = {"C": "clip", "sigma": "noise_multiplier", "L": "batch", "extractor": "extractor"}
STEPS = ("I", "R")
SMOKE_NETWORKS = {"vgg11": "lenet", "resnet18": "lenet", "alexnet": "lenet"}


def plan_accuracy(
    asked: Reproduce,
    cell: PublishedCell,
    own: Mapping[str, str] | None = None,
    *,
    preset: str = "paper",
    as_printed: Mapping[str, str] | None = None,
) -> PlannedCell:
    """The set that the labels name, and networks on it; `own` are further settings of the method.

    `as_printed` are settings of the table's own paper where they differ from the preset's, which may be another's.
    """
    labels = cell.labels
    method, variant = VARIANTS.get(str(labels["method"]), (str(labels["method"]), {}))
    variant = {**variant, **(as_printed or {})}
    dataset = str(labels["dataset"])
    swept = {SYMBOLS[name]: label_text(value) for name, value in labels.items() if name in SYMBOLS}
    if "L" in labels and asked.scale == "smoke":
        swept["batch"] = str(max(1, round(int(labels["L"]) / 5)))
    for name in STEPS:
        if name in labels:
            swept["iterations"] = str(steps_of(asked, method, int(labels[name])))
    meant = {**scale_settings(asked, method), **swept, **variant, **(own or {})}
    settings = {**meant, **known_settings(asked.settings, method)}
    network = str(labels.get("network", "convnet"))
    trained = SMOKE_NETWORKS.get(network, network) if asked.scale == "smoke" else network
    name, records = data_of(asked, dataset)
    epochs = epochs_of(asked)
    ipc = images_per_class(asked, labels, method, dataset, preset)
    spec = Utility(
        methods=(method,),
        dataset=name,
        records=records,
        ipc=(size_of(asked, ipc),),
        epsilon=(float(labels["epsilon"]),) if "epsilon" in labels and "noise_multiplier" not in settings else (),
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
    more = {} if epochs is None else {"networks": f"trained for {epochs} epochs, {num_seeds(asked)} seeds"}
    if size_of(asked, ipc) != ipc:
        more["images per class"] = f"{size_of(asked, ipc)} instead of {ipc}"
    if trained != network:
        more["network"] = f"{trained} in place of {network}"
    reduced = {key: value for key, value in settings.items() if key not in {**variant, **swept} or key == "iterations"}
    return PlannedCell(
        published=cell,
        spec=spec,
        read=accuracy_of,
        differs=differences(asked, method=method, dataset=dataset, preset=preset, settings=reduced, more=more),
    )


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


def known_settings(settings: Mapping[str, str], method: str) -> dict[str, str]:
    """Those of --set that the method has."""
    from dataclasses import fields

    from condensers.registry import get_method

    own = {field.name for field in fields(get_method(method).config)}
    return {name: value for name, value in settings.items() if name in own}


def _init(labels: Mapping[str, Label]) -> Literal["real"] | None:
    return "real" if labels.get("init") == "real" else None
