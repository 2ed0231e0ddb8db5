"""The power law of a sweep, against data that follow one and against fits that leave out one cell."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy.stats import norm

from audit.games.sweep import fit_law
from reports.records.grid import GridCell

SIZES = {"over_records": 600.0, "over_audited": 50.0, "over_steps": 100.0, "over_ipc": 1.0, "over_shadows": 64.0}


def cells_with(noise: float) -> list[GridCell]:
    """Cells of d′ = 2·(audited/50)^−½·(shadows/64)^¼ around one base cell, which stands on both axes."""
    rng = np.random.default_rng(0)
    places = [("over_audited", 20), ("over_audited", 50), ("over_audited", 200), ("over_shadows", 64),
              ("over_shadows", 128), ("over_shadows", 256)]  # fmt: skip
    found: dict[tuple[float, ...], Any] = {}
    cells = []
    for axis, value in places:
        sizes = {**SIZES, axis: float(value)}
        key = tuple(sizes.values())
        distance = 2 * (sizes["over_audited"] / 50) ** -0.5 * (sizes["over_shadows"] / 64) ** 0.25
        auc = float(norm.cdf(distance * np.exp(noise * rng.standard_normal()) / np.sqrt(2)))
        found.setdefault(key, SimpleNamespace(auc=auc, size=sizes.__getitem__))
        cells.append(cast(GridCell, found[key]))
    return cells


def test_exponents_of_an_exact_law_against_theory() -> None:
    law = fit_law(cells_with(0.0))
    assert law is not None
    assert law.exponents == pytest.approx({"over_audited": -0.5, "over_shadows": 0.25})
    assert (law.num_cells, law.spread, law.prediction_error) == (
        5,
        pytest.approx(0, abs=1e-9),
        pytest.approx(0, abs=1e-9),
    )


def test_prediction_error_against_fits_without_the_cell() -> None:
    cells = cells_with(0.2)
    law = fit_law(cells)
    assert law is not None
    apart = [cell for number, cell in enumerate(cells) if cell not in cells[:number]]
    wrong = []
    for left_out in apart:
        others = fit_law([cell for cell in apart if cell is not left_out])
        assert others is not None
        told = others.constant + sum(power * np.log(left_out.size(axis)) for axis, power in others.exponents.items())
        wrong.append(np.log(np.sqrt(2) * norm.ppf(left_out.auc)) - told)
    assert law.prediction_error == pytest.approx(np.sqrt(np.mean(np.square(wrong))))


def test_one_cell_of_each_size_predicts_nothing() -> None:
    cells = [cell for cell in cells_with(0.2) if cell.size("over_shadows") == 64][:2]
    law = fit_law(cells)
    assert law is not None
    assert (law.spread, law.prediction_error) == (None, None)
