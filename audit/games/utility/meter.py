"""How far `audit utility` is: its parts by their expected cost in FLOPs, with something added for every step."""

import contextlib
from collections.abc import Hashable, Iterator

from audit.engine.progress import ProgressBar
from audit.games.utility.training import Recipe, training_flops
from condensers.pool import Pool

_UNITS = 1000
STEP = 1e8  # FLOPs that could be done in the time that a step takes besides its own


class Meter:
    """How far all cells are, by their expected cost; cells that were found cost nothing."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._expected: dict[Hashable, float] = {}
        self._done: dict[Hashable, float] = {}
        self._bar: ProgressBar | None = None

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        with ProgressBar(self._title, {0: _UNITS}) as bar:
            self._bar = bar
            yield

    def expect(self, name: Hashable, cost: float) -> None:
        """A cell will cost so much; said again, it costs what was said last. What is done stays done."""
        self._expected[name] = max(cost, 1.0)

    def reach(self, name: Hashable, share: float) -> None:
        """So much of a cell is done."""
        self._done[name] = min(1.0, max(share, self._done.get(name, 0.0)))
        if self._bar is not None:
            self._bar.update(0, self.share)

    def leave_out(self, name: Hashable) -> None:
        """A cell was found, or is not needed."""
        self._expected.pop(name, None)
        self._done.pop(name, None)

    @property
    def share(self) -> float:
        whole = sum(self._expected.values())
        done = sum(self._expected.get(name, 0.0) * share for name, share in self._done.items())
        return done / whole if whole else 1.0


class TrainingCost:
    """What training the networks of one kind on a set will cost, all seeds together."""

    def __init__(self, recipe: Recipe, pool: Pool) -> None:
        self._recipe, self._pool = recipe, pool
        self._per_image: dict[str, float] = {}

    def __call__(self, architecture: str, num_images: int) -> float:
        if architecture not in self._per_image:
            network = self._recipe.network(architecture, self._pool)
            config = self._recipe.config(architecture, 2)
            flops = training_flops(network, config, self._pool.images[:2], self._pool.labels[:2])
            self._per_image[architecture] = flops / 2 / config.epochs
        config = self._recipe.config(architecture, num_images)
        steps = config.epochs * -(-num_images // config.batch)
        passes = config.epochs * num_images * self._per_image[architecture]
        return self._recipe.seeds * (passes + steps * STEP)
