"""The protocol of Zhao & Zhang (ICLR 2025, arXiv:2502.12976): mislabelled records have coins, all others are in.

The final network alone is attacked, and TPR at FPR 0.1% is reported, with DP-SGD beside the condensers. Only the
protocol is taken from the paper: none of its figures is quoted here.
"""

from audit.reproduce.cells import PlannedCell, tpr_percent_of
from audit.reproduce.overrides import known_settings
from audit.reproduce.scales import (
    EPOCHS_SETTING,
    counted,
    data_of,
    differences,
    epochs_of,
    in_paper,
    scale_settings,
    victims_of,
)
from audit.reproduce.tables import PublishedCell
from audit.specs.membership import Lira
from audit.specs.reproduce import Reproduce
from condensers.published import Circumstance

CANARIES = {"smoke": 50, "reduced": 500, "full": 500}
SHADOWS = {"smoke": 32, "reduced": 64, "full": 256}
SMOKE_IMAGES = 2
FALSE_POSITIVE_RATE = 0.001


def plan_protocol(asked: Reproduce, cell: PublishedCell) -> PlannedCell:
    """LiRA against the network that is trained on the set, or by DP-SGD, with coins for mislabelled records only."""
    method, dataset = str(cell.labels["method"]), str(cell.labels["dataset"])
    name, records = data_of(asked, dataset)
    private = method == "dpsgd"
    settings = {**scale_settings(asked, method), **known_settings(asked.settings, method)}
    ipc = None if private else int(cell.labels["ipc"])
    victims, more = {}, {}
    if not private:
        victims = victims_of(asked)
        if asked.scale == "smoke" or EPOCHS_SETTING in asked.settings:
            epochs = epochs_of(asked)
            assert epochs is not None
            victims[EPOCHS_SETTING] = str(epochs)
            more["networks"] = f"trained for {counted(epochs, 'epoch')}"
        if asked.scale == "smoke":
            more["images per class"] = f"{SMOKE_IMAGES} instead of {ipc}"
    shadows = asked.seeds or SHADOWS[asked.scale]
    spec = Lira(
        method=method,
        dataset=name,
        records=records,
        ipc=SMOKE_IMAGES if ipc is not None and asked.scale == "smoke" else ipc,
        epsilon=float(cell.labels["epsilon"]) if private else None,
        audited="0",
        canaries=f"mislabelled:{CANARIES[asked.scale]}",
        preset="quick" if private or asked.scale == "smoke" else "paper",
        settings={**settings, **victims},
        shadows=shadows,
        seed=asked.seed,
        device=asked.device,
    )
    paper = in_paper(method, "paper", Circumstance(dataset=dataset, ipc=ipc))
    differs = (
        f"{CANARIES[asked.scale]} mislabelled records of {name} audited, {counted(shadows, 'shadow')}",
        *differences(asked, dataset=dataset, settings=settings, paper=paper, more=more, networks=not private),
        *(("DP-SGD with the quick preset of this package",) if private else ()),
    )
    return PlannedCell(published=cell, spec=spec, read=tpr_percent_of(FALSE_POSITIVE_RATE), differs=differs)
