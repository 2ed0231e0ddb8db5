"""Runs whose images of a class are the same so far: they are computed once.

With few records in doubt and shared public randomness, runs start from the same images and take the same minibatches
until one holds a record that is in one run and not in the other. From then on they differ. Two runs with the same
members of a class never do.
"""

import numpy as np
from torch import Tensor


class Distinct:
    """`groups[r, c]` numbers the groups of runs that agree in class c; `first[c]` names a run of each group."""

    def __init__(self, images: Tensor, num_classes: int) -> None:
        """Compare the images that runs start from, float32 `[runs, classes · ipc, …]`, bit by bit."""
        runs = len(images)
        rows = images.detach().cpu().reshape(runs, num_classes, -1).numpy()
        bits = np.ascontiguousarray(rows).view(np.int32)
        self.groups = np.empty((runs, num_classes), dtype=np.int64)
        self.first: list[np.ndarray] = [np.empty(0, dtype=np.int64)] * num_classes
        for label in range(num_classes):
            self._number(label, bits[:, label])

    def _number(self, label: int, keys: np.ndarray) -> None:
        _, first, groups = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        self.first[label], self.groups[:, label] = first, groups.reshape(-1)

    def split(self, batches: list[tuple[np.ndarray, np.ndarray]]) -> None:
        """Separate runs whose minibatches differ: of each class, records and who takes them, `[runs, records]`."""
        for label, (_, taken) in enumerate(batches):
            if len(self.first[label]) < len(self.groups):
                keys = np.packbits(taken > 0, axis=1).astype(np.int64)
                self._number(label, np.concatenate([self.groups[:, label, None], keys], 1))

    @property
    def largest(self) -> int:
        """The number of groups of the class that has the most."""
        return max(map(len, self.first))

    def representatives(self, size: int) -> np.ndarray:
        """Of each class `size` runs, one of each group first: `[size, classes]`."""
        return np.stack([np.resize(first, size) for first in self.first], 1)
