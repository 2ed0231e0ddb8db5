"""The pictures a report may show, and the rule for real ones.

Real records leave the machine in no artefact unless the person asked for it. A synthetic set that was started from
real records may still show them, so it falls under the same rule.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Images `[images, height, width, channels]` side by side, each with a caption: a synthetic one and its matches."""

    images: Pixels
    captions: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.images.ndim != 4 or self.images.shape[-1] not in (1, 3):
            raise ValueError(f"panel images are {self.images.shape}; expected [images, height, width, 1 or 3]")
        if len(self.images) != len(self.captions) or not self.captions:
            raise ValueError(f"a panel has {len(self.images)} images and {len(self.captions)} captions")


@dataclass(frozen=True, kw_only=True)
class Gallery:
    """Pictures `[images, height, width, channels]` in [0, 1], one or three channels.

    `synthetic` is the synthetic set of one run, None where there is nothing to draw; `note` says why then. `exposed`
    holds the real images of the report's exposed records in their order, None unless the person asked for them.
    `matches` are panels that hold real images, so they too are given only where the person asked.
    """

    synthetic: Pixels | None = None
    synthetic_labels: NDArray[np.int64] | None = None
    exposed: Pixels | None = None
    matches: tuple[Panel, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        for name, images in (("synthetic", self.synthetic), ("exposed", self.exposed)):
            if images is not None and (images.ndim != 4 or images.shape[-1] not in (1, 3)):
                raise ValueError(f"{name} images are {images.shape}; expected [images, height, width, 1 or 3]")
        if self.synthetic is not None and (
            self.synthetic_labels is None or len(self.synthetic_labels) != len(self.synthetic)
        ):
            raise ValueError("synthetic images need one label each")


@dataclass(frozen=True, kw_only=True)
class Pictures:
    """Pixels of the panel of nearest records: its synthetic images in order, and records by number, as far as they
    may be shown."""

    synthetic: Pixels | None = None
    records: Mapping[int, Pixels] = field(default_factory=dict)
    note: str = ""


def show_synthetic(
    images: NDArray[np.floating], labels: NDArray[np.integer], *, from_records: bool, show_records: bool
) -> Gallery:
    """A gallery of one synthetic set, `[m, channels, height, width]` in [−1, 1], with hard or soft labels.

    `from_records` says that some image started from a real record; it is then shown only if the person asked.
    """
    if not len(images):
        return Gallery(note="The method releases a network and no synthetic set, so there are no images to show.")
    if images.ndim != 4 or images.shape[1] not in (1, 3):
        return Gallery(note="The synthetic records are rows of a table and not images, so none are shown.")
    if from_records and not show_records:
        return Gallery(
            note="The synthetic images of this audit were initialised with real records and may still show them, so "
            "they are left out unless you ask for them: audit report RUN_DIR --show-records."
        )
    hard = labels.argmax(-1) if labels.ndim == 2 else labels
    return Gallery(synthetic=pixels(images), synthetic_labels=hard.astype(np.int64))


def pixels(images: NDArray[np.floating]) -> Pixels:
    """`[n, channels, height, width]` in [−1, 1] to `[n, height, width, channels]` in [0, 1]; the rest is cut."""
    shown = np.clip(images.astype(np.float32) / 2 + 0.5, 0, 1)
    return np.ascontiguousarray(shown.transpose(0, 2, 3, 1))
