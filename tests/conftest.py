"""Fixtures shared by all tests. Data beside the checkout are for tests marked `shared` only."""

import contextlib
import os
import signal
from pathlib import Path

import numpy as np
import pytest
import torch

from audit.data.load import load_pool
from condensers.gradient_matching import flatten_gradients
from condensers.pool import CondensedBatch, Pool, sort_by_class
from condensers.randomness import stream

torch.set_num_threads(1)
os.environ.setdefault("OMP_NUM_THREADS", "1")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As in what a script runs in the background: programs under test would not hear Ctrl-C either, and never end.
    signal.signal(signal.SIGINT, signal.default_int_handler)
ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def _no_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command says nothing but what it has to say, however slow the machine is."""
    monkeypatch.setattr("audit.cli.heartbeat", contextlib.nullcontext)


@pytest.fixture(scope="session")
def digits() -> Pool:
    return load_pool("digits")


@pytest.fixture(scope="session")
def small_pool() -> Pool:
    """Three classes of 24 colour images, 12×12: enough for every code path."""
    generator = stream(7, "small pool")
    labels = torch.from_numpy(np.repeat(np.arange(3), 24))
    images = torch.from_numpy(generator.uniform(-1, 1, (72, 3, 12, 12)).astype(np.float32))
    images, labels = sort_by_class(images, labels)
    return Pool(name="small", images=images, labels=labels, num_classes=3)


@pytest.fixture(scope="session")
def small_members(small_pool: Pool) -> torch.Tensor:
    """Membership of five runs."""
    return torch.from_numpy(stream(7, "small members").random((5, small_pool.num_records)) < 0.5)


def released(batch: CondensedBatch) -> torch.Tensor:
    """What a method released, `[runs, …]`: the images, or all weights of the networks."""
    return batch.images if batch.networks is None else flatten_gradients(batch.networks.parameters)


def pytest_collection_modifyitems(items):
    if torch.cuda.is_available() or torch.backends.mps.is_available():
        return
    for item in items:
        if "gpu" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="no accelerator on this machine"))
