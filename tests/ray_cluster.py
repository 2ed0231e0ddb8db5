"""A Ray cluster of this machine for tests: a head and worker nodes, each a tree of processes that can be killed.

The head offers no place for tasks, so that every unit of work is computed on a worker node. Nodes share a token that is
drawn for the cluster: since Ray 2.60 a head refuses callers without one.
"""

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
OBJECT_STORE = 150 << 20
START_SECONDS = 400  # of a node on a busy machine
PORTS = (6400, 9900)  # below those that Ray gives to its workers


@dataclass
class Node:
    """One node: the process of `ray start --block` and everything that it started."""

    process: subprocess.Popen[bytes]

    def kill(self) -> None:
        """As a loss of power: SIGKILL to the node manager, its workers and all that belongs to them."""
        for number in reversed(process_tree(self.process.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        self.process.wait()


@dataclass
class Cluster:
    """`environment` is what drivers of this cluster need."""

    folder: Path
    address: str
    environment: dict[str, str]
    head: Node | None = None
    workers: list[Node] = field(default_factory=list)
    _num_started: int = 0

    def add_head(self) -> None:
        port = self.address.rpartition(":")[2]
        self.head = self._start("--head", "--port", port, "--num-cpus", "0", "--include-dashboard", "false",
                                "--node-ip-address", "127.0.0.1")  # fmt: skip

    def add_worker(self, num_cpus: int = 1) -> Node:
        self._num_started += 1
        # Addresses of their own: else a driver would take a worker for its own node, and be lost with it.
        place = f"127.0.0.{1 + self._num_started}"
        node = self._start("--address", self.address, "--num-cpus", str(num_cpus), "--node-ip-address", place)
        self.workers.append(node)
        return node

    def stop(self) -> None:
        for node in (*self.workers, *([self.head] if self.head else [])):
            node.kill()

    def _start(self, *options: str) -> Node:
        ray = Path(sys.executable).parent / "ray"
        command = [str(ray), "start", "--block", "--object-store-memory", str(OBJECT_STORE), *options]
        path = self.folder / f"node-{secrets.token_hex(4)}.log"
        with open(path, "wb") as log:
            process = subprocess.Popen(
                command, env=self.environment, stdout=log, stderr=log, cwd=self.folder, start_new_session=True
            )
        node = Node(process)
        try:
            wait_for(lambda: process.poll() is not None or "Ray runtime started" in path.read_text(), START_SECONDS)
            assert process.poll() is None, path.read_text()
        except BaseException:
            node.kill()
            raise
        return node


@contextlib.contextmanager
def cluster_of(folder: Path, num_workers: int) -> Iterator[Cluster]:
    """A head and so many workers of one place each; whatever is still alive in the end is killed."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests"))),
        "OMP_NUM_THREADS": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_raylet_start_wait_time_s": str(START_SECONDS),
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
    }
    environment.pop("RAY_ADDRESS", None)
    cluster = Cluster(folder=folder, address=f"127.0.0.1:{free_port()}", environment=environment)
    try:
        cluster.add_head()
        for _ in range(num_workers):
            cluster.add_worker()
        yield cluster
    finally:
        cluster.stop()


def process_tree(root: int) -> list[int]:
    """A process and all that descend from it, parents first."""
    found, waiting = [], [root]
    while waiting:
        number = waiting.pop()
        found.append(number)
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{number}/task"):
                children = Path(f"/proc/{number}/task/{thread}/children").read_text()
                waiting += [int(child) for child in children.split()]
    return found


def private_bytes(number: int) -> int:
    """Memory that a process holds now, without what it shares: Ray's object store is mapped into every process, and its
    pages count as resident from the first time that they are read.
    """
    _, resident, shared, *_ = map(int, Path(f"/proc/{number}/statm").read_text().split())
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


def wait_for(condition: Callable[[], bool], seconds: float) -> None:
    """Until the condition holds; TimeoutError if it does not in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {seconds:g} s")
        time.sleep(0.1)


def free_port() -> int:
    for port in range(PORTS[0] + os.getpid() % 1000, PORTS[1]):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("", port))
            return port
    raise OSError("no free port")
