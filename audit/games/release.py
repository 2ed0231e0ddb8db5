"""Writing a synthetic set down: one set, a label that says where it comes from, and the layouts that others read.

The label holds nothing that was computed from the records, apart from the set itself and, through the sampling rates of
a private method's ledger, the class sizes, which its theorem takes as public. Left out on purpose: which records images
started from; a checksum of the data, which would let anybody confirm a guess of all records at once; and the seed
wherever a draw that concerns single records hangs on it.
"""

import io
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from safetensors.torch import save
from torch import Tensor

from audit.accounting.ledger import claim_from_ledger, relation_of_ledger
from audit.data.auxiliary import attach_auxiliary
from audit.data.load import load_pool
from audit.data.split import hold_out
from audit.engine.store import explain_failure, write_atomically, write_text
from audit.engine.where import Where
from audit.games import settings
from audit.games.condensation import condense_for_release, resolve_condensation
from audit.games.full_pool import Condensation
from audit.games.membership.coins import choose_members
from audit.games.settings import own_settings, versions
from audit.sets.synthetic import digest_of
from audit.specs.condense import Condense
from audit.version import __version__
from condensers.errors import BadData
from condensers.ledger import Ledger
from condensers.normalisation import SYMMETRIC, Normalisation, normalise, official
from condensers.pool import CondensedBatch, Pool
from condensers.registry import get_method
from reports.figures.mosaic import arrange, compose
from reports.records.gallery import pixels

FORMATS = ("safetensors", "npz", "pt")
SCHEMA = "condensation-audit/set/1"
STEM = "synthetic"


@dataclass(frozen=True, kw_only=True)
class Release:
    """What was released: the label that stands on the set, and its files by kind."""

    label: dict[str, Any]
    files: dict[str, Path]


def release_set(spec: Condense, where: Where, say: Callable[[str], None]) -> Release:
    """Condense all records once, or those that coins chose, and write the set with its label into `where.out`.

    A private method's noise comes from the operating system, so that no two releases are alike; with an interruption
    the same release goes on from its checkpoint (condensation.py). There is one unit of work, computed in this process:
    what is drawn for a release stays in it.
    """
    formats = FORMATS if "all" in spec.formats else spec.formats
    method, changes = get_method(spec.method), own_settings(spec.settings)
    settings.check_changes(changes, {"": method.config})
    check_vacant(where.out)
    device = settings.resolve_device(spec.device)
    pool = load_pool(spec.dataset, data_root=where.data_root, records=spec.records)
    chosen = choose_members(spec, pool)
    if spec.hold_out:
        pool, _ = hold_out(pool)
    pool = pool.to(torch.device(device))
    condensation = resolve_condensation(
        method,
        pool,
        preset=spec.preset,
        ipc=spec.ipc,
        init=spec.init,
        epsilon=spec.epsilon,
        delta=spec.delta,
        changes=changes,
        compiled=spec.compile,
        by_coins=chosen is not None,
        audited=None if chosen is None or chosen.audited is None else chosen.audited.nonzero()[0].tolist(),
    )
    attached, config = attach_auxiliary(pool, condensation.config, spec.dataset, where.data_root)
    pool, condensation = attached.to(pool.images.device), replace(condensation, config=config)

    def publish(batch: CondensedBatch, ledger: Ledger | None) -> Release:
        label = make_label(
            condensation,
            pool,
            batch,
            ledger,
            preset=spec.preset,
            seed=spec.seed,
            delta=spec.delta,
            held_out=spec.hold_out,
            by_coins=chosen is not None,
        )
        files = write_release(where.out, batch.images[0].detach(), batch.labels[0], label, formats)
        return Release(label=label, files=files)

    return condense_for_release(condensation, pool, publish, seed=spec.seed, out=where.out, say=say, chosen=chosen)


def make_label(
    condensation: Condensation,
    pool: Pool,
    batch: CondensedBatch,
    ledger: Ledger | None,
    *,
    preset: str,
    seed: int,
    delta: float,
    held_out: bool,
    by_coins: bool = False,
) -> dict[str, Any]:
    """What stands on the set, in all layouts; `batch` has one run."""
    label: dict[str, Any] = {
        "schema": SCHEMA,
        "made_by": f"condensation-audit {__version__}",
        "versions": versions(condensation.method),
        "method": condensation.method.name,
        "preset": preset,
        "config": dict(vars(condensation.config)),
        "dataset": pool.name,
        "num_classes": pool.num_classes,
        "num_images": batch.images.shape[1],
        "held_out_quarter": held_out,
        "starts_from_records": bool((batch.initial_records >= 0).any()),
        "privacy": None,
        "ledger": None,
        "sha256": digest_of(batch.images[0], batch.labels[0]),
    }
    if by_coins:
        label["members_by_coins"] = True
    if ledger is not None:
        claim = claim_from_ledger(ledger.entries, delta)
        relation = relation_of_ledger(ledger.entries)
        label["privacy"] = {**asdict(claim), "neighbouring": relation, "noise": "from the operating system"}
        label["ledger"] = [
            {**asdict(event), "kind": type(event.sampling).__name__, "count": count} for event, count in ledger.entries
        ]
        label["public_seed"] = seed
    return label


def check_vacant(out: Path) -> None:
    """Refuse a folder that holds a set: a second release of private records has to be asked for by another name."""
    held = [name for name in (*(f"{STEM}.{suffix}" for suffix in FORMATS), "label.json") if (out / name).exists()]
    if held:
        raise BadData(
            f"--out {out}: already holds a set ({', '.join(held)}); choose another folder, and note that a second "
            "release of the same records spends ε again"
        )


def write_release(
    out: Path, images: Tensor, labels: Tensor, label: dict[str, Any], formats: tuple[str, ...]
) -> dict[str, Path]:
    """Write the set `[m, …]` in every layout, its label and its picture; returns the files by kind."""
    text = json.dumps(label, sort_keys=True, allow_nan=False)
    writers: dict[str, Callable[[], bytes]] = {
        "safetensors": lambda: _safetensors(images, labels, text),
        "npz": lambda: _npz(images, labels, text),
        "pt": lambda: _pt(images, labels, text, official(label["dataset"])),
    }
    files = {}
    for kind in formats:
        files[kind] = out / f"{STEM}.{kind}"
        write_bytes(files[kind], writers[kind]())
    if images.ndim == 4:
        files["png"] = out / f"{STEM}.png"
        write_bytes(files["png"], draw_grid(images, labels))
    files["label"] = out / "label.json"
    write_text(files["label"], json.dumps(label, sort_keys=True, indent=2, allow_nan=False) + "\n")
    return files


def draw_grid(images: Tensor, labels: Tensor) -> bytes:
    """A PNG with a row for each class, as many images as fit."""
    hard = labels if labels.ndim == 1 else labels.argmax(1)
    picture = compose(pixels(images.cpu().numpy()), arrange(hard.cpu().numpy().astype(np.int64)).cells)
    shades = np.round(255 * picture).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(shades[:, :, 0] if shades.shape[2] == 1 else shades).save(file, "PNG", optimize=True)
    return file.getvalue()


def write_bytes(path: Path, content: bytes) -> None:
    with explain_failure(path):
        write_atomically(path, lambda temporary: _fill(temporary, content))


def _fill(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _scales(how: Normalisation) -> dict[str, Tensor]:
    return {name: torch.tensor(getattr(how, name), dtype=torch.float64, device="cpu") for name in ("mean", "std")}


def _safetensors(images: Tensor, labels: Tensor, label: str) -> bytes:
    """Our own layout; pixels in [−1, 1]."""
    tensors = {"images": images.cpu().contiguous(), "labels": labels.cpu().contiguous(), **_scales(SYMMETRIC)}
    return save(tensors, metadata={"label": label})


def _npz(images: Tensor, labels: Tensor, label: str) -> bytes:
    """Arrays x and y; pixels in [−1, 1]."""
    file = io.BytesIO()
    mean, std = (tensor.numpy() for tensor in _scales(SYMMETRIC).values())
    np.savez_compressed(file, x=images.cpu().numpy(), y=labels.cpu().numpy(), label=np.array(label), mean=mean, std=std)
    return file.getvalue()


def _pt(images: Tensor, labels: Tensor, label: str, how: Normalisation) -> bytes:
    """What the official DC/DSA/DM code saves, in the numbers that it reads; accuracies are left empty."""
    pair = [normalise(images.cpu(), how).contiguous(), labels.cpu().contiguous()]
    file = io.BytesIO()
    torch.save({"data": [pair], "accs_all_exps": {}, "label": label, **_scales(how)}, file)
    return file.getvalue()
