"""A discrete-event simulation of the Ray driver: what stragglers and preempted nodes cost.

PYTHONPATH=.:tests python tests/simulate_scheduler.py table [figure.png]    makespans for docs/scale.md
PYTHONPATH=.:tests python tests/simulate_scheduler.py validate              against three nodes of this machine

The rules are those of audit/engine/ray_driver.py: units are started in order on free places; a unit whose node is lost
is started again, before new ones; when no unit is left to start, those that run are started a second time on free
places, oldest first, and the first result counts.
"""

import heapq
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np

from audit.engine.ray_driver import MOST_COPIES
from condensers.randomness import stream

HOUR = 3600.0


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Nodes with so many places each; `lost_after` and `away` are mean seconds until a node is lost and is back."""

    nodes: int
    places: int = 1
    start: float = 0.0
    straggling: float = 0.0
    slowdown: float = 5.0
    lost_after: float = float("inf")
    away: float = 600.0
    copies: int = MOST_COPIES


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Seconds until the last result, node-seconds of computing, and of those that came to nothing."""

    makespan: float
    computed: float
    wasted: float


def simulate(
    units: list[float], cluster: Cluster, seed: int = 0, losses: list[tuple[float, int]] | None = None
) -> Outcome:
    """`losses` are given times at which a given node is lost, in the place of random ones."""
    generator, number = stream(seed, "scheduler"), count()
    events: list[tuple[float, int, str, int, int]] = []  # time, order, what, node, task
    free = dict.fromkeys(range(cluster.nodes), cluster.places)
    waiting, finished = list(range(len(units))), set[int]()
    running: dict[int, tuple[int, int, float]] = {}  # task -> unit, node, since
    warm = set[int]()
    computed = wasted = now = 0.0

    def later(seconds: float, what: str, node: int, task: int = -1) -> None:
        heapq.heappush(events, (now + seconds, next(number), what, node, task))

    def lose_later(node: int) -> None:
        if losses is None and np.isfinite(cluster.lost_after):
            later(float(generator.exponential(cluster.lost_after)), "lost", node)

    def start(unit: int, node: int) -> None:
        slow = cluster.slowdown if generator.random() < cluster.straggling else 1.0
        begin = 0.0 if node in warm else cluster.start
        warm.add(node)
        task = next(number)
        running[task] = unit, node, now
        free[node] -= 1
        later(begin + slow * units[unit], "done", node, task)

    def fill() -> None:
        for node in sorted(free, key=lambda node: -free[node]):
            while free[node] > 0:
                if waiting:
                    start(waiting.pop(0), node)
                    continue
                copies = [unit for unit, _, _ in running.values()]
                again = [unit for unit in dict.fromkeys(copies) if copies.count(unit) < cluster.copies]
                if not again:
                    return
                start(again[0], node)

    def stop(task: int, *, useful: bool) -> int:
        nonlocal computed, wasted
        unit, node, since = running.pop(task)
        computed += now - since
        wasted += 0.0 if useful else now - since
        if node in free:
            free[node] += 1
        return unit

    for node in range(cluster.nodes):
        lose_later(node)
    for moment, node in losses or ():
        heapq.heappush(events, (moment, next(number), "lost", node, -1))
    fill()
    while len(finished) < len(units):
        now, _, what, node, task = heapq.heappop(events)
        if what == "done" and task in running:
            unit = stop(task, useful=True)
            finished.add(unit)
            for copy in [other for other, (same, _, _) in running.items() if same == unit]:
                stop(copy, useful=False)
        elif what == "lost" and node in free:
            del free[node]
            warm.discard(node)
            lost = [stop(other, useful=False) for other, (_, where, _) in list(running.items()) if where == node]
            still = {unit for unit, _, _ in running.values()}
            waiting[:0] = [unit for unit in dict.fromkeys(lost) if unit not in still and unit not in finished]
            later(cluster.away, "back", node)
        elif what == "back":
            free[node] = cluster.places
            lose_later(node)
        fill()
    return Outcome(makespan=now, computed=computed, wasted=wasted)


SCENARIOS = {
    "no trouble": {},
    "1% of units take 5 times as long": {"straggling": 0.01},
    "the same, none run twice": {"straggling": 0.01, "copies": 1},
    "a node is lost every 10 h on average, for 10 min": {"lost_after": 10 * HOUR},
    "a node is lost every hour on average, for 10 min": {"lost_after": HOUR},
    "lost every hour, and 1% take 5 times as long": {"lost_after": HOUR, "straggling": 0.01},
}


def table(figure: str | None, *, num_units: int = 157, minutes: float = 20.0, draws: int = 20) -> None:
    """10 000 shadows in shards of 64, of so many minutes each, on one to 64 nodes with two places."""
    units, sizes = [60 * minutes] * num_units, (1, 4, 16, 64)
    print(
        f"| {num_units} shards of {minutes:g} min, hours on | " + " | ".join(f"{size} nodes" for size in sizes) + " |"
    )
    print("|---|" + "---|" * len(sizes))
    found = {}
    for name, trouble in SCENARIOS.items():
        hours, lost = [], []
        for size in sizes:
            cluster = Cluster(nodes=size, places=2, start=10.0, **trouble)
            outcomes = [simulate(units, cluster, seed) for seed in range(draws)]
            hours.append(float(np.mean([one.makespan for one in outcomes])) / HOUR)
            lost.append(float(np.mean([one.wasted / one.computed for one in outcomes])))
        found[name] = hours
        print(f"| {name} | " + " | ".join(f"{h:.2f} ({w:.0%})" for h, w in zip(hours, lost, strict=True)) + " |")
    if figure is not None:
        import matplotlib.pyplot as plt

        for name, hours in found.items():
            plt.loglog(sizes, hours, marker="o", label=name)
        plt.xlabel("nodes")
        plt.ylabel("hours")
        plt.legend(fontsize=7)
        plt.savefig(figure, dpi=120)


def validate(num_units: int = 16, seconds: float = 3.0, kill_at: float = 10.0) -> None:
    """Units that wait, on a head and two nodes: undisturbed, and with a node that is killed and replaced."""
    from ray_cluster import cluster_of, wait_for

    print("| 16 units of 3 s on two nodes | simulated | measured |\n|---|---|---|")
    for kills in (False, True):
        with tempfile.TemporaryDirectory() as folder, cluster_of(Path(folder) / "nodes", 2) as cluster:
            files = Path(folder) / "files"
            files.mkdir()
            script = str(Path(__file__).parent / "ray_units.py")
            command = [sys.executable, script, cluster.address, str(files), str(num_units), "1000", str(seconds)]
            process = subprocess.Popen(command, env=cluster.environment, stdout=subprocess.PIPE, text=True)
            wait_for(lambda files=files: len(list(files.iterdir())) >= 2, 300)
            away = 0.0
            if kills:
                time.sleep(kill_at - seconds)
                cluster.workers.pop(0).kill()
                back = time.monotonic()
                cluster.add_worker()
                away = time.monotonic() - back
            printed, _ = process.communicate(timeout=600)
            times = json.loads(printed)["times"]
            ended = times[-1] - times[1]
        # From the second result on: both nodes have started then, and each has a unit before it.
        losses = [(kill_at, 0)] if kills else None
        model = Cluster(nodes=2, away=away + (3.0 if kills else 0.0))
        expected = simulate([seconds] * num_units, model, losses=losses).makespan - seconds
        what = f"a node killed after {kill_at:.0f} s, back after {away:.0f} s" if kills else "undisturbed"
        print(f"| {what} | {expected:.1f} s | {ended:.1f} s |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["validate"]:
        validate()
    else:
        table(sys.argv[2] if len(sys.argv) > 2 else None)
