"""What `audit reproduce` runs for a row, and what it says of it, against the row and the presets of the papers."""

from pathlib import Path
from typing import Any

import pytest
import torch

from audit.engine.executor import InProcess
from audit.engine.where import Where
from audit.games.condensation import resolve_condensation
from audit.reproduce.agreement import Measured, judge
from audit.reproduce.cells import PlannedCell
from audit.reproduce.maps import map_by_data_set
from audit.reproduce.plan import plan_item, share_settings
from audit.reproduce.run import open_choices, run_reproduction
from audit.reproduce.tables import published_item, published_items
from audit.specs.membership import Loss
from audit.specs.reproduce import SCALES, Reproduce
from condensers.errors import BadConfig
from condensers.pool import Pool
from condensers.registry import get_method
from reports.documents.blocks import Heading
from reports.documents.reproduction import ReproductionMaterial, build_reproduction
from reports.records.reproduction import (
    DIRECTION,
    NO,
    NOTHING_PRINTED,
    UNDECIDED,
    WITHIN,
    ReproducedRow,
    ReproductionReport,
)
from reports.words.reproduction import csv_row, explain_intervals, rows_by_axis


def planned(item: str, scale: str = "full", **asked: Any) -> tuple[PlannedCell, ...]:
    return plan_item(Reproduce(item=item, scale=scale, **asked), published_item(item))  # type: ignore[arg-type]


def said_of(item: str, scale: str, **asked: Any) -> list[str]:
    return ["; ".join(cell.differs) for cell in planned(item, scale, **asked)]


@pytest.mark.parametrize(
    "wrong",
    [{"records": 0, "scale": "full"}, {"seeds": 0}, {"seeds": -1}, {"seed": -1}, {"scale": "medium"}, {"device": 3}],
)
def test_fields_against_their_limits(wrong: dict) -> None:
    with pytest.raises(BadConfig, match=r"must|expected"):
        Reproduce(item="dong/table-1", **wrong)


@pytest.mark.parametrize(
    ("item", "told", "meant"),
    [
        ("dong/table-2", {"iteration": "5"}, "iterations"),
        ("dong/table-2", {"victim.epoch": "5"}, "victim.epochs"),
        ("zheng-li/table-1", {"victim.epoch": "5"}, "victim.epochs"),
        ("zhao-zhang/protocol", {"iteratons": "5"}, "iterations"),
        ("psg/continual", {"bach": "5"}, "batch"),
    ],
)
def test_a_misspelt_setting_against_what_was_meant(item: str, told: dict, meant: str) -> None:
    with pytest.raises(BadConfig) as refused:
        planned(item, "reduced", settings=told)
    assert str(refused.value).endswith(f"not a setting of {item}; did you mean {meant}?")


@pytest.mark.parametrize(
    ("item", "told"),
    [
        ("zheng-li/figure-2", {"victim.epochs": "5"}),  # budgets
        ("zheng-li/figure-2", {"victim.epoch": "5"}),
        ("dong/figure-7", {"iterations": "5"}),  # `audit theory` has settings of its own
        ("dong/figure-5", {"victim.epochs": "5"}),  # no network is trained
        ("dong/table-2", {"ipc": "5"}),  # the table says it
        ("dong/table-2", {"loops": "1x1", "ser": "true"}),
    ],
)
def test_a_setting_that_nothing_uses_is_refused(item: str, told: dict) -> None:
    with pytest.raises(BadConfig, match=f"not a setting of {item}"):
        planned(item, "reduced", settings=told)


def test_settings_of_all_items_go_to_those_that_have_them() -> None:
    asked = [Reproduce(item=name, settings={"iterations": "5", "zca": "true"}) for name in published_items()]
    found = {one.item: dict(one.settings) for one in share_settings(asked)}
    assert found["dong/table-1"] == {"iterations": "5", "zca": "true"}
    assert found["zheng-li/table-6"] == {"iterations": "5"}
    assert found["zheng-li/figure-2"] == {}
    for one in share_settings(asked):
        plan_item(one, published_item(one.item))
    with pytest.raises(BadConfig, match="--set iteration=5: not a setting of any item; did you mean iterations"):
        share_settings([one.but(settings={"iteration": "5"}) for one in asked])


def test_a_map_for_each_data_set_against_their_shapes() -> None:
    shapes = {"dm, a": (3, 3, 4, 4), "dm, b": (4, 3, 8, 8), "kip, a": (2, 3, 4, 4)}
    sets = {name: torch.randn(shape, generator=torch.Generator().manual_seed(0)) for name, shape in shapes.items()}
    found = map_by_data_set(sets, {name: name[-1] for name in sets}, 0)
    assert [(one.dataset, {name: len(at) for name, at in one.points.items()}) for one in found] == [
        ("a", {"dm, a": 3, "kip, a": 2}),
        ("b", {"dm, b": 4}),
    ]
    assert map_by_data_set({}, {}, 0) == ()


def test_noise_of_dpmix_against_its_preset() -> None:
    """σ = 1 for either part is a noise multiplier of 1/√2 for both."""
    (cell,) = planned("zheng-li/dpmix")
    spec = cell.spec
    pool = Pool(
        name="cifar10", images=torch.zeros(600, 3, 8, 8), labels=torch.arange(10).repeat_interleave(60), num_classes=10
    )
    found = resolve_condensation(
        get_method("dpmix"), pool, preset=spec.preset, ipc=spec.ipc[0], init=None, epsilon=None, delta=1e-5,
        changes={name: value for name, value in spec.settings.items() if not name.startswith("victim.")},
    )  # fmt: skip
    assert found.config.noise_multiplier == pytest.approx(0.5**0.5)
    assert "noise multiplier" not in " ".join(cell.differs)


@pytest.mark.parametrize("ratio_of", ["members", "all"])
def test_rates_of_the_map_against_appendix_e_1(ratio_of: str) -> None:
    """DM at r = .002 has 10 and KIP .04, on half of the records where their number is known beforehand."""
    for scale in ("reduced", "full"):
        for cell in planned("dong/figure-9", scale, ratio_of=ratio_of):
            method, dataset = cell.published.labels["method"], cell.published.labels["dataset"]
            rates = {"dm": "10", "kip": "0.04", "dsa": "0.1", "cgan": None}
            assert cell.spec.settings.get("learning_rate") == rates[str(method)]
            assert not any("learning rate" in said for said in cell.differs)
            assert cell.spec.records == (5000 if dataset == "celeba-64" else None)
            assert any("instead of half" in said for said in cell.differs) == (dataset == "cifar10")
            assert cell.spec.ipc == (5,) if ratio_of == "members" else (10,)
    few = planned("dong/figure-9", "full", records=1000, methods=("dm",), datasets=("cifar10",), ratio_of=ratio_of)
    assert (few[0].spec.records, few[0].spec.ipc) == (500, (1,))


@pytest.mark.parametrize(("item", "values"), [("dong/table-3", 16), ("dosser/table-1", 41)])
def test_cells_that_are_left_blank_against_paper(item: str, values: int) -> None:
    cells = published_item(item).cells
    assert (len(cells), sum(cell.value is None for cell in cells)) == (values, 0)


def test_what_a_row_says_itself_is_no_difference_against_the_row() -> None:
    assert set(said_of("zheng-li/table-8", "full")) == {""}
    assert [said.partition(";")[0] for said in said_of("zheng-li/table-8", "reduced", datasets=("mnist",))] == [
        f"iterations {ours} instead of {printed}"
        for ours, printed in ((40, 2000), (80, 4000), (120, 6000), (160, 8000))
    ]
    for item in ("dyn-psg/figure-3", "dosser/table-2", "zheng-li/table-7"):
        assert set(said_of(item, "full")) == {""}, item
    assert set(said_of("dosser/figure-4", "full")) == {"", "auxiliary images 2000 instead of 1000"}
    assert not any("width" in said for said in said_of("dong/figure-6", "full"))
    assert "width 64 instead of 2048" in said_of("dong/figure-6", "smoke")[0]


def test_iterations_of_psg_follow_the_budget_against_the_preset() -> None:
    """C.3: R = 200 at ε = 1 and 1000 at ε = 10."""
    for budget, printed in (("1", 200), ("10", 1000)):
        item = {"1": "dyn-psg/table-3", "10": "dyn-psg/table-1"}[budget]
        for said in said_of(item, "reduced", methods=("psg",), only=(f"epsilon={budget}",)):
            assert f"iterations 20 instead of {printed}" in said
    assert all("iterations 20 instead of 200" in said for said in said_of("psg/continual", "reduced", methods=("psg",)))


def test_no_networks_are_told_where_none_is_trained() -> None:
    assert not any("network" in said for scale in SCALES for said in said_of("dong/figure-5", scale))


def test_what_stays_open_is_told_where_nothing_else_differs() -> None:
    assert open_choices(Loss(method="dm")) == ("only what `audit methods --method dm` lists as open",)
    assert open_choices(Loss(method="real")) == (), "its preset has no open entries"
    assert open_choices(planned("zheng-li/figure-2")[0].spec) == (), "a budget"


def test_the_protocol_says_nothing_of_a_data_set_that_stands_in() -> None:
    said = " ".join(said_of("zhao-zhang/protocol", "smoke", methods=("dm",)))
    assert "300 records of digits in place of cifar10" in said
    assert "copy" not in said
    assert all(
        "iterations 200 instead of 20000" in one for one in said_of("zhao-zhang/protocol", "reduced", methods=("dm",))
    )


@pytest.mark.parametrize("scale", SCALES)
def test_without_dos_against_the_same_printed_value_of_another_item(scale: str) -> None:
    """46.5 is printed once: 10 000 steps are without DOS, as many as there are samples."""
    defaults = {"ser": "true", "optimisation_steps": "200000"}
    steps = planned("dosser/figure-4", scale, only=("varied=optimisation steps", "ipc=10"))
    for printed in (46.5, 50.6):
        cells = [cell for cell in (*planned("dosser/table-2", scale), *steps) if cell.published.value == printed]
        table, figure = (cell.spec.but(settings={**defaults, **cell.spec.settings}) for cell in cells)
        assert table == figure
    taken = [int(cell.spec.settings["optimisation_steps"]) for cell in steps]
    assert taken == sorted(set(taken))
    (told,) = planned("dosser/figure-4", "reduced", settings={"iterations": "50"}, only=("value=10000", "ipc=10"))
    assert told.spec.settings["optimisation_steps"] == "50"


def test_dm_of_dosser_starts_from_records_as_the_printed_dsa_does() -> None:
    """Noise is what Zheng & Li start DM from."""
    for item, init in (("dosser/table-1", "real"), ("zheng-li/table-1", None)):
        assert {cell.spec.init for cell in planned(item, "reduced", methods=("dm",))} == {init}


def test_dp_kip_of_dosser_is_told_to_be_another_against_paper() -> None:
    for scale in SCALES:
        for cell in planned("dosser/table-1", scale, methods=("dp-kip-scatternet",)):
            assert cell.spec.methods == ("dp-kip",)
            assert cell.differs[-1] == "fully connected kernel in place of scattering features"


@pytest.mark.parametrize(
    ("printed", "ours", "expected"),
    [
        (79.16, (77.0, 78.5), DIRECTION),
        (79.16, (70.0, 72.0), NO),
        (79.16, (75.0, 80.0), UNDECIDED),
        (70.60, (71.0, 74.0), DIRECTION),  # like the printed value below the constant answer
        (70.60, (70.0, 74.0), WITHIN),
        (70.60, (78.0, 79.0), NO),
    ],
)
def test_chance_of_adult_is_the_constant_answer(printed: float, ours: tuple[float, float], expected: str) -> None:
    """12 435 of 16 281 test records are of the larger class."""
    item = published_item("zheng-li/adult")
    assert item.chance == pytest.approx(100 * 12_435 / 16_281, abs=0.005)
    cell = next(cell for cell in item.cells if cell.value == printed)
    assert judge(item, cell, Measured(value=sum(ours) / 2, interval=ours, num_seeds=3), []) == expected


def test_an_upper_limit_has_no_interval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audit.reproduce.plan.THEORY", {"smoke": (60, (1, 2), 2)})
    spec = Reproduce(item="dong/figure-7")
    report = run_reproduction(spec, Where(out=tmp_path, executor=InProcess()), lambda _: None)
    assert [row.published_interval for row in report.rows] == [None] * 4
    assert csv_row(report.rows[0])[:4] == ("below", 1.0, "", "")
    assert "ranges over two numbers of images per class" in explain_intervals(report)
    assert "95%" not in explain_intervals(report)
    assert "the two intervals overlap" in explain_intervals(report)


def test_nouns_follow_their_number() -> None:
    (said,) = said_of("zheng-li/table-5", "reduced", seeds=1, datasets=("mnist",), settings={"victim.epochs": "1"})
    assert said == "networks trained for 1 epoch, 1 seed"


def test_a_curve_for_each_setting_that_is_varied_against_labels() -> None:
    rows = tuple(
        ReproducedRow(
            labels=(("varied", varied), ("value", "500")), relation="value", published=None, published_interval=None,
            ours=1.0, interval=None, num_seeds=1, agreement=NOTHING_PRINTED, differs=(), command="",
        )
        for varied in ("optimisation steps", "subspace", "optimisation steps")
    )  # fmt: skip
    report = ReproductionReport(
        item="", paper="", where="", title="", unit="%", scale="full", axis="value", command="", rows=rows, quoted=(),
        maps=(), config={}, versions={}, digest="", run_directory="", pdf="",
    )  # fmt: skip
    assert {name: len(own) for name, own in rows_by_axis(report).items()} == {"optimisation steps": 2, "subspace": 1}
    blocks = build_reproduction(ReproductionMaterial(report=report)).blocks
    headings = {block.text for block in blocks if isinstance(block, Heading)}
    assert {"By optimisation steps", "By subspace"} <= headings
