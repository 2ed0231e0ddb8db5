"""The layouts in which synthetic sets are released: what stands in a file, read without executing anything in it.

`.pt` is a pickle inside a zip archive. It goes through PyTorch's restricted unpickler (`weights_only=True`), which
knows tensors, containers and numbers, and refuses every other object before it is made. The one addition: files of the
official DC/DSA/DM code carry the accuracies it measured as numpy scalars; blanks are put in their place, unread. Sizes
are checked before anything is unpacked, and again before a tensor is copied: a small file can claim to be large.
"""

import json
import pickle
import warnings
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from audit.data.limits import check_unpacked, read_npz_headers
from audit.data.sniff import describe_file
from condensers.errors import BadConfig, BadData
from condensers.normalisation import Normalisation

MOST_BYTES = 4 << 30
KEYS = (("images", "labels"), ("x", "y"), ("data", "labels"), ("x_train", "y_train"))
SUFFIXES = (".safetensors", ".npz", ".pt", ".pth")


@dataclass(frozen=True, kw_only=True)
class Contents:
    """Images and labels as they stand in a file, and what it says of them. `num_sets` is how many it holds."""

    images: Tensor
    labels: Tensor
    stated: Normalisation | None
    label: str | None
    num_sets: int = 1


def read_contents(path: Path, index: int) -> Contents:
    """Read by suffix; `index` chooses among several sets."""
    if not path.is_file():
        raise BadData(f"--synthetic {path}: no such file")
    if path.suffix.lower() not in SUFFIXES:
        raise BadData(f"--synthetic {path}: its name must end in one of {', '.join(SUFFIXES)}")
    if path.stat().st_size > MOST_BYTES:
        raise BadData(
            f"{path}: is {path.stat().st_size >> 20} MiB large; a synthetic set may have at most {MOST_BYTES >> 20} MiB"
        )
    try:
        match path.suffix.lower():
            case ".safetensors":
                contents = _read_safetensors(path)
            case ".npz":
                contents = _read_npz(path)
            case _:
                contents = _read_pt(path, index)
    except OSError as error:
        raise BadData(f"{path}: cannot be read: {error.strerror or error}") from None
    if not 0 <= index < contents.num_sets:
        raise BadConfig(f"--index {index}: {path} holds {contents.num_sets} set(s), numbered from 0")
    return contents


def _read_safetensors(path: Path) -> Contents:
    try:
        with safe_open(path, framework="pt") as file:
            found = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            label = (file.metadata() or {}).get("label")
    except (SafetensorError, ValueError) as error:
        raise BadData(f"{path}: is cut off or not a safetensors file ({' '.join(str(error).split())})") from None
    return _from_mapping(path, found, label)


def _read_npz(path: Path) -> Contents:
    _check_archive(path, ".npz archive")
    try:
        read_npz_headers(path)
        with np.load(path, allow_pickle=False) as archive:
            found = {name: archive[name] for name in archive.files}
    except (ValueError, OSError, EOFError, KeyError, MemoryError, zipfile.BadZipFile, zlib.error) as error:
        reason = "holds Python objects, which are never loaded" if "pickle" in str(error) else "is cut off or damaged"
        raise BadData(f"{path}: {reason}; save plain arrays with numpy.savez") from None
    label = str(found["label"]) if "label" in found and found["label"].dtype.kind == "U" else None
    return _from_mapping(path, {name: _tensor_of_array(value) for name, value in found.items()}, label)


def _read_pt(path: Path, index: int) -> Contents:
    _check_archive(path, ".pt file of torch 1.6 or newer")
    try:
        with torch.serialization.safe_globals(_blanks()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise BadData(
            f"{path}: asks for Python objects other than tensors, lists and numbers; nothing in it was executed"
        ) from None
    except Exception as error:  # whatever a hostile or damaged file makes the library stumble over is the file's fault
        raise BadData(f"{path}: is cut off or damaged ({type(error).__name__}); nothing in it was executed") from None
    return _from_object(path, found, index)


class _Blank:
    """What stands in the place of a numpy scalar and of its type."""

    def __init__(self, *_: object) -> None:
        pass

    def __setstate__(self, _: object) -> None:
        pass


def _blanks() -> list[Any]:
    return [(_Blank, name) for name in ("numpy.dtype", "numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar")]


def _from_object(path: Path, found: object, index: int) -> Contents:
    """{'data': [[images, labels], …]} of the official code, a dictionary of tensors, or (images, labels)."""
    if isinstance(found, dict) and isinstance(found.get("data"), list):
        sets = found["data"]
        if not sets or not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in sets):
            raise BadData(f"{path}: 'data' must be a list of pairs [images, labels]")
        images, labels = sets[min(max(index, 0), len(sets) - 1)]
        label = found.get("label")
        return Contents(
            images=_plain(path, "images", images),
            labels=_plain(path, "labels", labels),
            stated=_stated(path, found),
            label=label if isinstance(label, str) else None,
            num_sets=len(sets),
        )
    if isinstance(found, list | tuple) and len(found) == 2:
        found = {"images": found[0], "labels": found[1]}
    if not isinstance(found, dict):
        raise BadData(f"{path}: holds a {type(found).__name__}; expected 'data', images and labels, or a pair of them")
    label = found.get("label")
    return _from_mapping(path, found, label if isinstance(label, str) else None)


def _from_mapping(path: Path, found: dict[Any, Any], label: str | None) -> Contents:
    for images, labels in KEYS:
        if images in found and labels in found:
            return Contents(
                images=_plain(path, images, found[images]),
                labels=_plain(path, labels, found[labels]),
                stated=_stated(path, found),
                label=label,
            )
    names = ", ".join(map(str, found)) or "nothing"
    raise BadData(f"{path}: holds {names[:200]}; expected images and labels, or x and y")


def _stated(path: Path, found: dict[Any, Any]) -> Normalisation | None:
    if "mean" not in found or "std" not in found:
        return None
    mean, std = (_plain(path, name, found[name]).double().flatten() for name in ("mean", "std"))
    if max(mean.numel(), std.numel()) > 3:
        raise BadData(f"{path}: mean and std must have one number, or one for each channel")
    return Normalisation(mean=tuple(mean.tolist()), std=tuple(std.tolist()))


def _plain(path: Path, name: str, value: object) -> Tensor:
    """A dense tensor in memory of a size that may be copied."""
    if not isinstance(value, Tensor):
        raise BadData(f"{path}: {name} is a {type(value).__name__}, not a tensor of numbers")
    if value.layout != torch.strided or value.is_quantized or value.device.type != "cpu" or value.is_complex():
        raise BadData(f"{path}: {name} is not a dense tensor of real numbers")
    if value.numel() * 8 > MOST_BYTES:
        raise BadData(f"{path}: {name} of shape {tuple(value.shape)} is larger than a synthetic set may be")
    return value.detach()


def _tensor_of_array(value: np.ndarray) -> object:
    """A tensor where torch knows the type; else the array, to be refused if it is asked for."""
    if value.dtype.kind not in "biuf" or value.dtype.itemsize > 8:
        return value
    native = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("="))
    return torch.from_numpy(native)


def _check_archive(path: Path, wanted: str) -> None:
    """A whole zip archive that does not unpack to more than is allowed."""
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        found = describe_file(path)
        what = "is cut off or damaged" if found == "a zip archive" else f"is {found}"
        raise BadData(f"{path}: {what}, not a whole {wanted}") from None
    check_unpacked(path, unpacked)
    if unpacked > MOST_BYTES:
        raise BadData(
            f"{path}: unpacks to {unpacked >> 20} MiB; a synthetic set may have at most {MOST_BYTES >> 20} MiB"
        )


def parse_label(path: Path, text: str | None) -> dict[str, Any] | None:
    """The label that `audit condense` puts into its files; None where there is none of ours."""
    if text is None:
        return None
    try:
        label = json.loads(text)
    except (ValueError, RecursionError):
        raise BadData(f"{path}: its label is not JSON") from None
    if not isinstance(label, dict):
        raise BadData(f"{path}: its label is a {type(label).__name__}, not an object of names and values")
    return label
