"""Where LPIPS finds its backbones: a file that is given, what `audit weights` fetched, torchvision's cache, a download.

Safetensors hold names, shapes and numbers and nothing that runs; torchvision's own files are pickles and are read with
torch's unpickler of tensors only, after their sha256 was held against the one in their name.
"""

import hashlib
import urllib.error
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from attacks.perceptual import BACKBONES, backbone_shapes, check_backbone
from audit.data.catalog import resolve_root
from audit.engine.store import write_atomically
from condensers.errors import BadData, BadInput

# What torchvision calls its files; the end of a name is the beginning of the sha256.
TORCHVISION = {"vgg16": "vgg16-397923af.pth", "alexnet": "alexnet-owt-7be5be79.pth"}
HOW = "audit weights --get {network} fetches them, --download asks torchvision, --lpips-weights FILE names a file"


@dataclass(frozen=True, kw_only=True, eq=False)
class Weights:
    """A backbone, where it came from, and the sha256 of its tensors."""

    network: str
    tensors: Mapping[str, Tensor]
    source: str
    checksum: str


def find_weights(network: str, files: tuple[Path, ...] = (), *, download: bool = False) -> Weights | None:
    """The backbone from the first place that has it; None where none has. A file that is given must be right."""
    for path in files:
        found = read_file(path)
        if found.network == network:
            return found
    kept = kept_file(network)
    if kept.is_file():
        return read_file(kept)
    cached = torchvision_file(network)
    if not cached.is_file() and download:
        _download(network, cached)
    return _read_torchvision(network, cached) if cached.is_file() else None


def kept_file(network: str, folder: Path | None = None) -> Path:
    """Where `audit weights` puts a backbone."""
    return (folder or resolve_root(None) / "weights") / f"{network}_features.safetensors"


def torchvision_file(network: str) -> Path:
    """Where torchvision keeps its own copy."""
    return Path(torch.hub.get_dir()) / "checkpoints" / TORCHVISION[network]


def write_weights(network: str, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Write a backbone as safetensors."""
    content = save({name: tensors[name].contiguous() for name in backbone_shapes(network)})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot make {path.parent}: {error.strerror or error}") from None
    write_atomically(path, lambda temporary: _write_bytes(temporary, content))


def read_file(path: Path) -> Weights:
    """A backbone from safetensors; which one is told by its first kernel. Only what has the right shape is read."""
    where = f"weights {path}"
    if not path.is_file():
        raise BadInput(f"{where}: no such file")
    try:
        with safe_open(path, framework="pt") as file:
            shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
            network = _recognise(shapes, where)
            tensors = {name: file.get_tensor(name) for name in backbone_shapes(network)}
    except (SafetensorError, OSError, ValueError, RuntimeError) as error:
        raise BadData(f"{where}: cannot be read as safetensors ({_first_line(error)})") from None
    check_backbone(network, tensors, where=where)
    return _weights(network, tensors, f"file {path.name}")


def _recognise(shapes: Mapping[str, tuple[int, ...]], where: str) -> str:
    first = shapes.get("features.0.weight")
    network = next((name for name in BACKBONES if backbone_shapes(name)["features.0.weight"] == first), None)
    if network is None:
        told = "has no features.0.weight" if first is None else f"features.0.weight has shape {list(first)}"
        raise BadData(f"{where}: {told}; the backbones of LPIPS are {' and '.join(BACKBONES)}, in torchvision's names")
    for name, shape in backbone_shapes(network).items():
        if shapes.get(name) != shape:
            told = f"has shape {list(shapes[name])}" if name in shapes else "is missing"
            raise BadData(f"{where}: {name} {told}; {network} needs {list(shape)}")
    strange = sorted(name for name in shapes if not name.startswith(("features.", "classifier.")))
    if strange:
        raise BadData(f"{where}: {strange[0]} is not a tensor of torchvision's {network}")
    return network


def _read_torchvision(network: str, path: Path) -> Weights:
    where = f"torchvision's {path.name}"
    expected = path.stem.rpartition("-")[2]
    try:
        with path.open("rb") as content:
            found = hashlib.file_digest(content, "sha256").hexdigest()
        if not found.startswith(expected):
            raise BadData(f"{where}: its sha256 starts with {found[: len(expected)]}, not {expected}; delete {path}")
        tensors = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except (OSError, RuntimeError, ValueError, EOFError, UnpicklingError) as error:
        raise BadData(f"{where}: cannot be read ({_first_line(error)}); delete {path}") from None
    check_backbone(network, tensors, where=where)
    return _weights(network, {name: tensors[name] for name in backbone_shapes(network)}, where)


def _download(network: str, path: Path) -> None:
    """Fetch torchvision's own file from torchvision's own address."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.hub.download_url_to_file(
            torchvision_address(network), str(path), hash_prefix=path.stem.rpartition("-")[2], progress=False
        )
    except (urllib.error.URLError, OSError, RuntimeError) as error:
        raise BadInput(
            f"--download: {path.name} could not be fetched ({_first_line(error)}); try audit weights --get {network}"
        ) from None


def torchvision_address(network: str) -> str:
    """Where torchvision fetches its file from; importing it takes seconds."""
    from torchvision import models

    known: dict[str, Any] = {
        "vgg16": models.VGG16_Weights.IMAGENET1K_V1,
        "alexnet": models.AlexNet_Weights.IMAGENET1K_V1,
    }
    return known[network].url


def _weights(network: str, tensors: Mapping[str, Tensor], source: str) -> Weights:
    digest = hashlib.sha256()
    for name in backbone_shapes(network):
        digest.update(name.encode())
        digest.update(tensors[name].contiguous().numpy().data)
    return Weights(network=network, tensors=tensors, source=source, checksum=digest.hexdigest())


def describe_absence(network: str) -> str:
    """Why there is no distance by this backbone, and how to get it; no path of the machine."""
    return f"the weights of {network} are not on this machine: {HOW.format(network=network)}"


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _write_bytes(path: Path, content: bytes) -> None:
    path.write_bytes(content)
