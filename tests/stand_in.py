"""A device for tests that is not the CPU: its tensors refuse to meet those of the CPU, and waits are counted.

It is a PrivateUse1 backend in Python (torch.utils.backend_registration): a tensor of the device "standin" wraps one of
the CPU, on which every operation is computed. As on a GPU, a tensor of the CPU without dimensions may take part, copies
between host and device are explicit, and reading a value, or making a tensor whose size depends on values, makes the
host wait. Those are counted in `waits`, by name.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils import backend_registration
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_flatten, tree_map

NAME = "standin"
AVAILABLE = hasattr(backend_registration, "_setup_privateuseone_for_python_backend")
# Operators that wait for the device, because a number or a size must be known on the host.
READS = {
    "_local_scalar_dense": "item",
    "equal": "equal",
    "nonzero": "nonzero",
    "masked_select": "masked select",
    "_unique2": "unique",
    "unique_dim": "unique",
    "unique_consecutive": "unique",
    "is_nonzero": "item",
}
waits: Counter[str] = Counter()
full: list[int] = []  # numbers of operations after which the device has no memory left, once for each
if AVAILABLE:
    # On import, that is before any test runs: autograd makes its threads for the devices that are known when it starts.
    backend_registration._setup_privateuseone_for_python_backend(NAME)


class MixedDevices(RuntimeError):
    """Tensors of the CPU and of the device met."""


class StandIn(Tensor):
    """A tensor of the device; `raw` holds its numbers."""

    raw: Tensor

    @staticmethod
    def __new__(cls, raw: Tensor) -> "StandIn":
        made = Tensor._make_wrapper_subclass(
            cls,
            raw.size(),
            strides=raw.stride(),
            storage_offset=raw.storage_offset(),
            dtype=raw.dtype,
            device=torch.device(NAME, 0),
            requires_grad=False,
        )
        made.raw = raw
        return made

    def __repr__(self, *, tensor_contents: object = None) -> str:
        return f"StandIn({self.raw!r})"

    def tolist(self) -> Any:
        """As of any tensor; the host waits for it."""
        waits["copy to host"] += 1
        return self.raw.tolist()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


class _Mode(TorchDispatchMode):
    """Catches what makes tensors of the device without having one: factories and copies from the host."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


class _FromNumbers(TorchFunctionMode):
    """`torch.tensor(numbers, device=…)` copies from memory that is not pinned, for which the host waits."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        asked = kwargs.get("device")
        if func in (torch.tensor, torch.as_tensor) and asked is not None and torch.device(asked).type == NAME:
            waits["tensor from numbers"] += 1
            return func(*args, **{**kwargs, "device": "cpu"}).to(asked)
        return func(*args, **kwargs)


@contextlib.contextmanager
def stand_in() -> Iterator[torch.device]:
    """Within the block the device exists."""
    waits.clear()
    with _Mode(), _FromNumbers():
        yield torch.device(NAME, 0)


def to_host(tensor: Tensor) -> Tensor:
    """The numbers, without counting."""
    return tensor.raw.detach().clone() if isinstance(tensor, StandIn) else tensor


def _run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    name = func._schema.name.partition("::")[2]
    flat, _ = tree_flatten((args, kwargs))
    ours = [value for value in flat if isinstance(value, StandIn)]
    asked = kwargs.get("device")
    to_device = asked is not None and torch.device(asked).type == NAME
    to_cpu = asked is not None and not to_device
    if not ours and not to_device:
        return func(*args, **kwargs)
    _count(func, name, args, ours, to_cpu)
    if full:
        full[0] -= 1
        if full[0] < 0:
            full.pop(0)
            raise torch.OutOfMemoryError("the stand-in device is out of memory")
    if name not in ("copy_", "_to_copy"):
        _refuse_mixing(func, flat, ours)
    plain_args, plain_kwargs = tree_map(_unwrap, (args, kwargs))
    if to_device:
        plain_kwargs = {**plain_kwargs, "device": torch.device("cpu")}
    plain_kwargs.pop("pin_memory", None)
    found = func(*plain_args, **plain_kwargs)
    if to_cpu:
        return found
    if name == "copy_" and not isinstance(args[0], StandIn):
        return args[0]
    wrapped = tree_map(lambda value: StandIn(value) if isinstance(value, Tensor) else value, found)
    return return_and_correct_aliasing(func, args, kwargs, wrapped) if ours else wrapped


def _count(func: Any, name: str, args: Any, ours: list[StandIn], to_cpu: bool) -> None:
    if name in READS:
        waits[READS[name]] += 1
    elif (name == "_to_copy" and ours and to_cpu) or (name == "copy_" and not isinstance(args[0], StandIn)):
        waits["copy to host"] += 1
    elif name == "repeat_interleave" and func._overloadname == "Tensor":
        waits["repeat interleave"] += 1
    elif name in ("index", "index_put", "index_put_", "_index_put_impl_"):
        masks = [index for index in args[1] if index is not None and index.dtype in (torch.bool, torch.uint8)]
        waits["index by mask"] += len(masks)


def _refuse_mixing(func: Any, flat: list[Any], ours: list[StandIn]) -> None:
    for value in flat if ours else ():
        if isinstance(value, Tensor) and not isinstance(value, StandIn) and value.ndim:
            shapes = f"{tuple(value.shape)} of the CPU, {tuple(ours[0].shape)} of {NAME}"
            raise MixedDevices(f"{func}: tensors of two devices met ({shapes})")


def _unwrap(value: Any) -> Any:
    return value.raw if isinstance(value, StandIn) else value
