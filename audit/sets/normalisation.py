"""In which numbers a synthetic set stands in a file: as asked, as it states, or by a guess."""

from torch import Tensor

from condensers.errors import BadConfig
from condensers.normalisation import OFFICIAL, SYMMETRIC, UNIT, Normalisation

CHOICES = ("auto", "official", "unit", "symmetric")


def choose_normalisation(
    asked: str, images: Tensor, dataset: str | None, stated: Normalisation | None
) -> tuple[Normalisation, str]:
    """Which normalisation a file has, and in a few words why we think so. `images` are its floats."""
    match asked:
        case "official":
            if dataset not in OFFICIAL:
                raise BadConfig(f"--normalisation official: known for {', '.join(OFFICIAL)}, not for {dataset}")
            return OFFICIAL[dataset], f"the official code's for {dataset}, as asked"
        case "unit":
            return UNIT, "[0, 1], as asked"
        case "symmetric":
            return SYMMETRIC, "[−1, 1], as asked"
        case "auto":
            return _guess(images, dataset, stated)
    raise BadConfig(f"--normalisation {asked!r} is not one of {', '.join(CHOICES)}")


def _guess(images: Tensor, dataset: str | None, stated: Normalisation | None) -> tuple[Normalisation, str]:
    if stated is not None:
        return stated, "as the file states"
    lowest, highest = float(images.min()), float(images.max())
    told = f"(a guess: its values run from {lowest:.4g} to {highest:.4g}; --normalisation overrides it)"
    if lowest >= 0 and highest <= 1:
        return UNIT, f"[0, 1] {told}"
    if dataset in OFFICIAL:
        return OFFICIAL[dataset], f"the official code's for {dataset} {told}"
    return SYMMETRIC, f"[−1, 1] {told}"
