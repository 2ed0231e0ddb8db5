"""How released sets answer to few records in doubt.

`python tests/few_in_doubt.py RUN_DIRECTORY`, the directory being that of an `audit lira --level set --audited N`.

Prints, class by class, how far sets are apart by the number of members in which they differ, how much of them a linear
model explains, and in how many members the nearest other set differs; then the AUC of the vote of the nearest alone.
"""

import sys
from pathlib import Path

import numpy as np

from attacks.nearest_runs import vote_of_nearest
from audit.engine.store import RunDirectory
from audit.games.membership.audited import audited_pool
from audit.games.membership.config import AuditConfig
from audit.games.membership.runs import load_shards
from audit.games.membership.shard import game_of, load_checked_pool
from audit.statistics.roc import area, exact_curve, tpr_at


def describe(folder: Path) -> None:
    config = AuditConfig.from_json((folder / "config.json").read_text())
    pool = audited_pool(config, load_checked_pool(config, None))
    shards = load_shards(RunDirectory(folder), config, ("images", "labels"))
    game = game_of(config, pool.num_records)
    members = game.members(range(config.shadows))
    num_fit, votes = len(game.fit_runs), np.zeros((config.shadows, pool.num_records))
    print("class  R²     differs  distance by differing members 0, 1, 2, …")
    for label, records in enumerate(pool.class_slices):
        images = shards["images"][:, shards["labels"][0] == label].reshape(config.shadows, -1).astype(np.float64)
        own = members[:, records]
        votes[:, records] = vote_of_nearest(images, own[:num_fit])
        squares = ((images[:, None] - images[None]) ** 2).sum(2)
        np.fill_diagonal(squares, np.inf)
        differ = (own[:, None] != own[None]).sum(2)
        by_number = [squares[(differ == number) & np.isfinite(squares)] for number in range(6)]
        apart = ", ".join(f"{np.sqrt(found.mean()):.3g}" if len(found) else "none" for found in by_number)
        nearest = differ[np.arange(len(differ)), squares.argmin(1)].mean()
        print(f"{label:5}  {explained(images, own):+.3f}  {nearest:.2f} of {own.shape[1]}  {apart}")
    curve = exact_curve(members[num_fit:].ravel(), votes[num_fit:].ravel())
    rates = ", ".join(f"TPR {tpr_at(curve, rate):.1%} at FPR {rate:.1%}" for rate in (0.001, 0.01))
    print(f"vote alone: AUC {area(curve):.3f}, {rates}")


def explained(images: np.ndarray, members: np.ndarray) -> float:
    """Leave-one-out R² of the linear model of members."""
    design = np.concatenate([np.ones((len(members), 1)), members - 0.5], 1)
    hat = design @ np.linalg.pinv(design)
    residuals = (images - hat @ images) / (1 - np.diag(hat))[:, None]
    return float(1 - (residuals**2).sum() / ((images - images.mean(0)) ** 2).sum())


if __name__ == "__main__":
    describe(Path(sys.argv[1]))
