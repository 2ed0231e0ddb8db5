"""The protocol of Zhao & Zhang (ICLR 2025, arXiv:2502.12976): mislabelled records have coins, all others are in.

The final network alone is attacked, and TPR at FPR 0.1% is reported, with DP-SGD beside the condensers. Only the
protocol is taken from the paper: none of its figures is quoted here.
"""

from audit.reproduce.accuracy import known_settings
from audit.reproduce.cells import PlannedCell, tpr_percent_of
from audit.reproduce.scales import EPOCHS_SETTING, data_of, epochs_of, scale_settings, victims_of
from audit.reproduce.tables import PublishedCell
from audit.specs.membership import Lira
from audit.specs.reproduce import Reproduce

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
    if not private and (asked.scale == "smoke" or EPOCHS_SETTING in asked.settings):
        settings |= {EPOCHS_SETTING: str(epochs_of(asked))}
    if not private:
        settings |= victims_of(asked)
    shadows = asked.seeds or SHADOWS[asked.scale]
    spec = Lira(
        method=method,
        dataset=name,
        records=records,
        ipc=None if private else SMOKE_IMAGES if asked.scale == "smoke" else int(cell.labels["ipc"]),
        epsilon=float(cell.labels["epsilon"]) if private else None,
        audited="0",
        canaries=f"mislabelled:{CANARIES[asked.scale]}",
        preset="quick" if private or asked.scale == "smoke" else "paper",
        settings=settings,
        shadows=shadows,
        seed=asked.seed,
        device=asked.device,
    )
    differs = (
        f"{CANARIES[asked.scale]} mislabelled records of {name} audited, {shadows} shadows",
        "the copy of CIFAR-10 at hand may hold fewer records than the paper's 50 000: all that it holds are used",
        *(f"{key} {value}" for key, value in settings.items()),
        *(("DP-SGD with the quick preset of this package",) if private else ()),
    )
    return PlannedCell(published=cell, spec=spec, read=tpr_percent_of(FALSE_POSITIVE_RATE), differs=differs)
