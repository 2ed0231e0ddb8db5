"""A synthetic set that somebody released: images, labels and, if it is one of ours, its label."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from audit.sets.files import Contents, parse_label, read_contents
from audit.sets.normalisation import choose_normalisation
from condensers.errors import BadData
from condensers.normalisation import SYMMETRIC, UNIT, to_symmetric
from condensers.pool import Pool

CHANNELS = (1, 3)


@dataclass(frozen=True, kw_only=True)
class SyntheticSet:
    """`images` are float32 `[m, …]` with pixels in [−1, 1] by (x − .5)/.5, as in a pool, though they may lie outside.

    `labels` are int64 `[m]`, or float32 `[m, classes]` where they are soft. `normalisation` says in words how the
    numbers of the file were read, `label` what `audit condense` wrote there about the set, None for anybody else's.
    """

    name: str
    images: Tensor
    labels: Tensor
    normalisation: str
    label: dict[str, Any] | None
    num_sets: int = 1

    @property
    def hard_labels(self) -> Tensor:
        return self.labels if self.labels.ndim == 1 else self.labels.argmax(1)


def read_synthetic(
    path: Path, *, dataset: str | None = None, index: int = 0, normalisation: str = "auto"
) -> SyntheticSet:
    """Read a set of any layout. `dataset` helps to tell its normalisation; `index` chooses among several sets."""
    contents = read_contents(Path(path), index)
    images, labels = _images(path, contents), _labels(path, contents.labels)
    if len(images) != len(labels):
        raise BadData(f"{path}: {len(images)} images but {len(labels)} labels; there must be one label for each image")
    if contents.images.dtype == torch.uint8:
        how, why = UNIT, "bytes, 0…255"
    else:
        how, why = choose_normalisation(normalisation, images, dataset, contents.stated)
    images = to_symmetric(images, how)
    if not bool(images.isfinite().all()):
        raise BadData(f"{path}: its numbers are too large to be pixels")
    label = parse_label(Path(path), contents.label)
    if label is not None and how == contents.stated == SYMMETRIC and label.get("sha256") != digest_of(images, labels):
        raise BadData(f"{path}: its sha256 is not the one on its label; the file was altered")
    return SyntheticSet(
        name=Path(path).name,
        images=images,
        labels=labels,
        normalisation=why,
        label=label,
        num_sets=contents.num_sets,
    )


def check_fit(synthetic: SyntheticSet, pool: Pool) -> None:
    """Refuse a set that is not one of these records."""
    found, wanted = tuple(synthetic.images.shape[1:]), tuple(pool.images.shape[1:])
    if found != wanted:
        raise BadData(
            f"{synthetic.name}: its images are {_shape(found)}, but the records of {pool.name} are {_shape(wanted)}"
        )
    if synthetic.labels.ndim == 2:
        if synthetic.labels.shape[1] != pool.num_classes:
            raise BadData(
                f"{synthetic.name}: its labels are for {synthetic.labels.shape[1]} classes, but {pool.name} has "
                f"{pool.num_classes}"
            )
        return
    lowest, highest = int(synthetic.labels.min()), int(synthetic.labels.max())
    if lowest < 0 or highest >= pool.num_classes:
        raise BadData(
            f"{synthetic.name}: its labels run from {lowest} to {highest}; "
            f"those of {pool.name} are 0…{pool.num_classes - 1}"
        )


def digest_of(images: Tensor, labels: Tensor) -> str:
    """sha256 over type, shape and bytes of a set in [−1, 1]."""
    digest = hashlib.sha256()
    for tensor in (images, labels):
        digest.update(f"{tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(np.ascontiguousarray(tensor.cpu().numpy()).data)
    return digest.hexdigest()


def _images(path: Path, contents: Contents) -> Tensor:
    """float32 `[m, channels, height, width]` or `[m, features]`, finite; bytes come to [0, 1]."""
    images = contents.images
    if 0 in images.shape or images.ndim not in (2, 3, 4):
        raise BadData(
            f"{path}: images have shape {tuple(images.shape)}; expected [m, channels, height, width] or [m, features]"
        )
    if images.dtype == torch.uint8:
        images = images.float() / 255
    elif images.is_floating_point():
        images = images.float().contiguous()
    else:
        raise BadData(f"{path}: images are {images.dtype}; expected floats, or bytes (uint8)")
    bad = ~images.isfinite().flatten(1).all(1)
    if bool(bad.any()):
        raise BadData(
            f"{path}: {int(bad.sum())} images hold NaN or infinite values, first image {int(bad.int().argmax())}"
        )
    if images.ndim == 3:
        images = images.unsqueeze(1)
    if images.ndim == 4 and images.shape[1] not in CHANNELS:
        if images.shape[3] not in CHANNELS:
            raise BadData(f"{path}: images have shape {tuple(images.shape)}; expected 1 or 3 channels")
        images = images.permute(0, 3, 1, 2).contiguous()
    return images


def _labels(path: Path, labels: Tensor) -> Tensor:
    """int64 `[m]`, or float32 `[m, classes]`, finite."""
    if labels.is_floating_point():
        if labels.ndim != 2 or labels.shape[1] < 2:
            raise BadData(
                f"{path}: labels are {labels.dtype} of shape {tuple(labels.shape)}; expected whole numbers [m], "
                "or soft labels [m, classes]"
            )
        if not bool(labels.isfinite().all()):
            raise BadData(f"{path}: its soft labels hold NaN or infinite values")
        return labels.float().contiguous()
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1 or labels.dtype == torch.bool:
        raise BadData(f"{path}: labels are {labels.dtype} of shape {tuple(labels.shape)}; expected whole numbers [m]")
    return labels.long().contiguous()


def _shape(sizes: tuple[int, ...]) -> str:
    return "×".join(map(str, sizes))
