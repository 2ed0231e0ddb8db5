"""The grid of adversaries: public randomness known or not × who is in doubt × what is seen.

Everybody in doubt: a coin for every record of the pool. Audited: coins for --audited records, drawn class by class; all
others are always in, and known. One per class: of every class a single record has a coin, so that with the randomness
known the class's part of a set is a function of one bit.
"""

from collections.abc import Callable

from audit.data.load import load_pool
from audit.engine.where import Where
from audit.games.grid import PlannedCell, keep_grid, run_cells
from audit.specs.grids import DOUBTS, LEVELS, RANDOMNESS, Adversaries, parse_choices
from audit.specs.membership import as_lira
from condensers.errors import BadConfig
from condensers.registry import get_method, require_set
from reports.records.grid import GridReport


def run_adversaries(spec: Adversaries, where: Where, say: Callable[[str], None]) -> GridReport:
    """Run or resume every cell. At level model first: at level set its condensations are taken as they are."""
    require_set(get_method(spec.method), "it has no public randomness: audit lira")
    if spec.canaries is not None:
        raise BadConfig("--canaries: the grid audits ordinary records only; use audit lira --audited 0 --canaries …")
    pool = load_pool(spec.dataset, data_root=where.data_root, records=spec.records)
    doubts: dict[str, str | None] = {
        "everybody": None, "audited": str(spec.audited), "one-per-class": str(pool.num_classes),
    }  # fmt: skip
    places = [
        (randomness, doubt, level)
        for doubt in reversed(parse_choices("--doubt", spec.doubt, DOUBTS))
        for randomness in parse_choices("--randomness", spec.randomness, RANDOMNESS)
        for level in parse_choices("--levels", spec.levels, LEVELS)
    ]
    asked = [
        PlannedCell(
            axes={"randomness": randomness, "doubt": doubt, "level": level},
            spec=as_lira(
                spec,
                level=level,
                audited=doubts[doubt],
                independent_randomness=randomness == "unknown",
                public_draws=spec.public_draws if randomness == "known" else 1,
                tries=spec.tries * len(places),
            ),
        )
        for randomness, doubt, level in places
    ]
    return keep_grid(spec, run_cells(asked, where, say), where, say)
