"""`audit reproduce`: what is read from the data file, what is run for it, and when figures agree."""

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import audit
from audit.engine.executor import InProcess
from audit.engine.where import Where
from audit.games.redraw import DrawOptions, material_of, read_run
from audit.reproduce.agreement import Measured, judge
from audit.reproduce.maps import map_images
from audit.reproduce.plan import chosen_cells, plan_item
from audit.reproduce.run import incomplete_data, run_reproduction, untrained_networks
from audit.reproduce.tables import PublishedCell, PublishedItem, published_item, published_items, rounding
from audit.specs.account import Account
from audit.specs.membership import Loss
from audit.specs.reproduce import SCALES, Reproduce
from audit.specs.utility import Utility
from condensers.errors import BadConfig, BadData
from reports.documents.kinds import build_document
from reports.records.reproduction import DIRECTION, NO, NOT_COMPARED, NOTHING_PRINTED, UNDECIDED, WITHIN
from reports.words.reproduction import markdown

ASKED_FOR = {
    "dong": [*(f"table-{n}" for n in range(1, 5)), *(f"figure-{n}" for n in range(2, 11))],
    "zheng-li": [*(f"table-{n}" for n in range(1, 10)), "figure-1", "figure-2", "dpmix", "adult"],
    "psg": ["table-1", "figure-2", "figure-3", "continual"],
    "dyn-psg": [*(f"table-{n}" for n in range(1, 6)), "figure-1", "figure-3", "figure-4"],
    "dosser": ["table-1", "table-2", "figure-4"],
    "zhao-zhang": ["protocol"],
}


def test_every_table_and_figure_is_there() -> None:
    wanted = {f"{paper}/{item}" for paper, items in ASKED_FOR.items() for item in items}
    assert wanted <= set(published_items())


@pytest.mark.parametrize(
    ("item", "labels", "value"),
    [
        ("dong/table-1", {"method": "dm", "ratio": 0.01, "dataset": "fashion-mnist"}, 83.67),
        ("dong/table-2", {"method": "kip with zca", "ratio": 0.01, "dataset": "celeba-64"}, -1.80),
        ("zheng-li/table-2", {"method": "ldpdc", "epsilon": 1.0, "dataset": "cifar10"}, 25.46),
        ("zheng-li/table-8", {"method": "ndpdc", "I": 4000, "dataset": "fashion-mnist"}, 81.64),
        ("dyn-psg/table-3", {"method": "dyn-psg", "ipc": 10, "epsilon": 1.0, "dataset": "svhn"}, 49.09),
        ("dosser/table-1", {"method": "dosser", "epsilon": 1.0, "dataset": "mnist", "ipc": 50}, 96.4),
    ],
)
def test_values_against_paper(item: str, labels: dict, value: float) -> None:
    found = [cell for cell in published_item(item).cells if cell.labels == labels]
    assert [cell.value for cell in found] == [value]


def test_no_figure_stands_twice_in_an_item() -> None:
    for item in published_items().values():
        assert max(Counter(json.dumps(cell.labels, sort_keys=True) for cell in item.cells).values()) == 1, item.name


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", list(published_items()))
def test_every_item_can_be_planned(name: str, scale: str) -> None:
    """Specifications validate themselves; at full scale nothing but the paper's presets decides the settings."""
    planned = plan_item(Reproduce(item=name, scale=scale), published_item(name))
    assert planned
    for cell in planned:
        own = cell.spec
        if scale == "smoke" and hasattr(own, "dataset") and own.COMMAND != "account":
            assert own.dataset == "digits"
        if isinstance(own, Utility | Loss) and scale != "smoke":
            assert own.preset in ("paper", "dong")
        if scale == "full" and isinstance(own, Utility):
            assert own.epochs is None


def test_rates_of_dong_stay_with_the_printed_ratio() -> None:
    """r of all data doubles the images per class, not the learning rate."""
    item = published_item("dong/table-2")
    for ratio_of, images in (("members", 30), ("all", 60)):
        asked = Reproduce(item=item.name, scale="full", ratio_of=ratio_of, methods=("dm",), datasets=("fashion-mnist",))
        spec = plan_item(asked, item)[1].spec
        assert (spec.ipc, spec.settings["learning_rate"]) == (images, "50")


def test_fewer_records_keep_the_ratio_and_are_printed() -> None:
    item = published_item("dong/table-2")
    asked = Reproduce(item=item.name, scale="reduced", methods=("dm",), datasets=("fashion-mnist",), records=6000)
    planned = plan_item(asked, item)
    assert [(cell.spec.records, cell.spec.ipc) for cell in planned] == [(6000, 1), (6000, 3), (6000, 6)]
    assert [cell.spec.settings["learning_rate"] for cell in planned] == ["1.67", "5", "10"]
    assert "learning rate 5 instead of 50" in planned[1].differs
    whole = plan_item(asked.but(records=None), item)
    assert [cell.spec.settings["learning_rate"] for cell in whole] == ["10", "50", "100"]
    assert not any("learning rate" in said for cell in whole for said in cell.differs)
    other = plan_item(asked.but(settings={"learning_rate": "0.1"}), item)
    assert "learning rate 0.1 instead of 50" in other[1].differs, "what --set says is printed"
    for cell, ratio in zip(planned, ("0.0033", "0.01", "0.02"), strict=True):
        assert "6 000 records" in cell.differs
        assert any(said.endswith(f"r = {ratio}") for said in cell.differs)
    utility = plan_item(
        Reproduce(item="zheng-li/table-2", scale="full", records=500), published_item("zheng-li/table-2")
    )
    assert all(cell.spec.records == 500 and "500 records" in cell.differs for cell in utility)
    with pytest.raises(BadConfig, match="--records 100: scale smoke"):
        Reproduce(item=item.name, records=100)


def test_lira_shares_randomness_unless_the_scale_is_full() -> None:
    item = published_item("dong/figure-2")
    for scale in SCALES:
        for cell in plan_item(Reproduce(item=item.name, scale=scale), item):
            assert cell.spec.independent_randomness == (scale == "full")
            assert ("runs share their public randomness" in cell.differs) == (scale != "full")
            if scale == "smoke":
                assert cell.differs[0].startswith(f"{cell.spec.records} records of digits")


def test_data_sets_and_methods_can_be_chosen() -> None:
    item = published_item("zheng-li/table-2")
    chosen = chosen_cells(Reproduce(item=item.name, scale="full", datasets=("mnist",), methods=("ldpdc",)), item)
    assert [cell.value for cell in chosen] == [85.80]
    with pytest.raises(BadConfig, match="--dataset moon"):
        chosen_cells(Reproduce(item=item.name, datasets=("moon",)), item)
    with pytest.raises(BadConfig, match=r"no such table or figure .* did you mean dong/table-1"):
        published_item("dong/tabel-1")


def test_figures_can_be_chosen_by_their_labels() -> None:
    item = published_item("dosser/table-1")
    for told in ("ipc=10", "ipc=10.0"):
        asked = Reproduce(item=item.name, scale="full", datasets=("mnist",), methods=("dosser",), only=(told,))
        assert [cell.value for cell in chosen_cells(asked, item)] == [95.3]
    with pytest.raises(BadConfig, match="--only ipc=11: not in dosser/table-1, which has ipc=10, ipc=50"):
        chosen_cells(Reproduce(item=item.name, only=("ipc=11",)), item)
    with pytest.raises(BadConfig, match="which has no ratio"):
        chosen_cells(Reproduce(item=item.name, only=("ratio=1",)), item)
    with pytest.raises(BadConfig, match="--only ipc: must be NAME=VALUE"):
        chosen_cells(Reproduce(item=item.name, only=("ipc",)), item)


@pytest.mark.parametrize("name", ["dong/table-1", "dosser/table-1", "psg/continual", "zhao-zhang/protocol"])
@pytest.mark.parametrize("scale", SCALES)
def test_what_is_set_of_networks_goes_before_the_scale_and_is_printed(name: str, scale: str) -> None:
    told = {"victim.epochs": "7", "victim.width": "24"}
    for cell in plan_item(Reproduce(item=name, scale=scale, settings=told), published_item(name)):  # type: ignore[arg-type]
        if getattr(cell.spec, "method", "") == "dpsgd":
            continue  # it is the network
        epochs = getattr(cell.spec, "epochs", None) or cell.spec.settings["victim.epochs"]  # type: ignore[attr-defined]
        assert (int(epochs), cell.spec.settings["victim.width"]) == (7, "24")  # type: ignore[attr-defined]
        said = " ".join(cell.differs)
        assert "width 24" in said
        assert "7 epochs" in said or "epochs 7" in said
    with pytest.raises(BadConfig, match=r"victim\.epochs=0"):
        plan_item(Reproduce(item=name, settings={"victim.epochs": "0"}), published_item(name))


def item_of(relation: str = "value", baseline: dict | None = None) -> PublishedItem:
    return PublishedItem(
        name="x/y", paper="", where="", title="", unit="%", cells=(), relation=relation, chance=10.0, baseline=baseline
    )


def cell_of(value: float | None, spread: float | None = 1.0, **labels: object) -> PublishedCell:
    return PublishedCell(labels=dict(labels), value=value, spread=spread)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("published", "ours", "interval", "expected"),
    [
        (80.0, 82.0, (80.5, 83.5), WITHIN),
        (80.0, 70.0, (69.0, 71.0), DIRECTION),
        (80.0, 50.0, (5.0, 95.0), UNDECIDED),  # 80 and chance, 10, are among what ours may be
        (10.5, 50.0, (5.0, 95.0), WITHIN),  # the paper's figure is at chance itself
        (80.0, 9.0, (8.0, 9.5), NO),
        (80.0, 18.0, (0.0, 37.0), NO),  # chance, 10, is among what ours may be
        (5.0, 8.0, (7.0, 9.0), DIRECTION),
        (5.0, 8.0, (7.0, 11.0), NO),
        (80.0, 80.9, None, WITHIN),
        (None, 80.9, None, NOTHING_PRINTED),
    ],
)
def test_agreement(published: float | None, ours: float, interval: tuple | None, expected: str) -> None:
    assert judge(item_of(), cell_of(published), Measured(value=ours, interval=interval, num_seeds=3), []) == expected


@pytest.mark.parametrize(
    ("interval", "expected"), [((0.49, 0.505), WITHIN), ((0.505, 0.52), UNDECIDED), ((0.52, 0.6), NO)]
)
def test_agreement_with_an_upper_limit(interval: tuple, expected: str) -> None:
    ours = Measured(value=sum(interval) / 2, interval=interval, num_seeds=3)
    assert judge(item_of("below"), cell_of(0.51), ours, []) == expected


def test_direction_is_that_from_the_baseline() -> None:
    base, more = cell_of(50.0, sigma=2), cell_of(60.0, sigma=1)
    found = {name: Measured(value=value, interval=None, num_seeds=1) for name, value in (("base", 30.0), ("up", 33.0))}
    item = item_of(baseline={"sigma": 2})
    assert judge(item, more, found["up"], [(base, found["base"])]) == DIRECTION
    lower = Measured(value=29.0, interval=None, num_seeds=1)
    assert judge(item, more, lower, [(base, found["base"])]) == NO


@pytest.mark.parametrize(("value", "half"), [(85.8, 0.1), (63.64, 0.01), (27.0, 1.0), (0.51, 0.01)])
def test_rounding_of_printed_values(value: float, half: float) -> None:
    assert rounding(value) == pytest.approx(half)


def test_the_last_digit_printed_is_that_of_the_row() -> None:
    """1.10 stands beside 1.06, and 100.00 ± 0.00 beside 46.67."""
    cells = {(item.name, *cell.labels.values()): cell for item in published_items().values() for cell in item.cells}
    assert cells["zheng-li/table-1", "ldpdc", "ε", "mnist"].interval == pytest.approx((1.09, 1.11))
    assert cells["dong/table-1", "real", 0.002, "celeba-64"].interval == pytest.approx((99.99, 100.01))


@pytest.mark.parametrize(
    ("item", "labels", "text"),
    [
        ("dosser/table-1", {"method": "dosser", "epsilon": 1.0, "dataset": "mnist", "ipc": 10}, "95.3 ± 0.0"),
        ("dong/table-1", {"method": "real", "ratio": 0.002, "dataset": "fashion-mnist"}, "46.67 ± 16.33"),
        ("dong/table-1", {"method": "real", "ratio": 0.01, "dataset": "fashion-mnist"}, "21.00 ± 3.67"),
        ("dong/table-1", {"method": "dsa", "ratio": 0.002, "dataset": "fashion-mnist"}, "74.40 ± 2.65"),
        ("dong/table-1", {"method": "dm", "ratio": 0.02, "dataset": "fashion-mnist"}, "83.00 ± 2.56"),
        ("zheng-li/adult", {"method": "dp-merf", "epsilon": 1.0, "dataset": "adult"}, "70.60"),
        ("dong/table-2", {"method": "kip", "ratio": 0.002, "dataset": "fashion-mnist"}, "−1.13 ± 1.84"),
        ("dyn-psg/table-1", {"method": "psg", "ipc": 1, "epsilon": 10.0, "dataset": "mnist"}, "88.69"),
        ("zheng-li/table-1", {"method": "ldpdc", "quantity": "ε", "dataset": "mnist"}, "1.10"),
        ("dong/figure-8", {"method": "dm", "ratio": 0.01, "dataset": "cifar10"}, ""),
    ],
)
def test_figures_are_shown_as_printed(item: str, labels: dict, text: str) -> None:
    assert [cell.text for cell in published_item(item).cells if cell.labels == labels] == [text]


def test_budgets_agree_or_do_not(tmp_path: Path) -> None:
    """A budget has no chance level: that of Table I is of its accuracies. CelebA's are below the printed ones."""
    asked = Reproduce(item="zheng-li/table-1", scale="full", only=("quantity=ε",))
    report = run_reproduction(asked, Where(out=tmp_path, executor=InProcess()), lambda _: None)
    found = {(row.label("method"), row.label("dataset")): row.agreement for row in report.rows}
    assert {key for key, agreement in found.items() if agreement == NO} == {("ldpdc", "celeba"), ("ndpdc", "celeba")}
    assert set(found.values()) == {WITHIN, NO}


def test_budgets_of_zheng_and_li_against_paper(tmp_path: Path) -> None:
    """Table I, rounded up: 6.12, 5.45 and 6.72 for NDPDC at its default settings."""
    spec = Reproduce(item="zheng-li/figure-2", scale="full")
    report = run_reproduction(spec, Where(out=tmp_path, executor=InProcess()), lambda _: None)
    printed = [row for row in report.rows if row.published is not None]
    assert [row.agreement for row in printed] == [WITHIN] * 3


def test_an_item_is_run_resumed_and_drawn_again(tmp_path: Path) -> None:
    """LDPDC alone, which takes no steps: record, pages, CSV and Markdown, the same bytes when it is run again."""
    spec = Reproduce(item="zheng-li/table-2", methods=("ldpdc",), seeds=2)
    report = audit.run(spec, out=tmp_path, executor=InProcess(), progress=False)
    folder = Path(report.run_directory)
    names = ("report.json", "report.pdf", "report.html", "table.csv", "table.md")
    before = {name: (folder / name).read_bytes() for name in names}
    assert [row.agreement for row in report.rows] == [NOT_COMPARED]
    assert report.rows[0].interval is not None
    assert "digits in place of mnist" in before["table.md"].decode()
    assert before["table.csv"].decode().count("\n") == 2
    again = audit.run(spec, out=tmp_path, executor=InProcess(), progress=False)
    assert again == report
    assert {name: (folder / name).read_bytes() for name in names} == before
    directory, record = read_run(folder)
    document = build_document(material_of(directory, record, DrawOptions(show_records=False, data_root=None)))
    assert document.title.startswith("zheng-li/table-2")
    assert markdown(record) == before["table.md"].decode()


def test_too_few_shadow_runs_are_an_error_and_not_missing_data(tmp_path: Path) -> None:
    asked = Reproduce(item="dong/figure-2", methods=("dm",), seeds=4)
    with pytest.raises(BadData, match=r"raise --shadows \(here: --seeds\)"):
        run_reproduction(asked, Where(out=tmp_path, executor=InProcess()), lambda _: None)


def test_a_copy_of_a_data_set_that_is_not_whole_is_told() -> None:
    attacked = SimpleNamespace(game=SimpleNamespace(num_records=12_000))
    assert incomplete_data(Loss(dataset="cifar10"), attacked) == ("12 000 of 50 000 training records",)
    assert incomplete_data(Loss(dataset="cifar10", records=12_000), attacked) == (), "asked for, and said elsewhere"
    assert incomplete_data(Loss(dataset="digits"), attacked) == ()
    trained = SimpleNamespace(train_records=10_000, test_records=2000)
    said = ("10 000 of 50 000 training records", "2 000 of 10 000 test records")
    assert incomplete_data(Utility(dataset="cifar10"), trained) == said
    assert incomplete_data(Account(method="ldpdc", dataset="cifar10"), {"epsilon_rdp": 1.0}) == ()


def test_maps_of_few_and_of_many_images() -> None:
    generator = torch.Generator().manual_seed(0)
    few = {"a": torch.randn(4, 1, 4, 4, generator=generator), "b": torch.randn(5, 1, 4, 4, generator=generator)}
    found = map_images(few, 0)
    assert (found.kind, [len(points) for points in found.points.values()]) == ("principal components", [4, 5])
    far = {"a": torch.full((15, 1, 4, 4), -1.0), "b": torch.full((15, 1, 4, 4), 1.0)}
    noisy = {name: images + 0.05 * torch.randn(images.shape, generator=generator) for name, images in far.items()}
    found = map_images(noisy, 0)
    assert found.kind == "t-SNE"
    centres = [np.mean(points, axis=0) for points in found.points.values()]
    assert np.linalg.norm(centres[0] - centres[1]) > max(np.std(points) for points in found.points.values()) / 2


def test_chance_is_that_of_the_data_set() -> None:
    item = published_item("zheng-li/table-1")
    chance = {str(cell.labels["dataset"]): item.chance_in(cell) for cell in item.cells}
    assert chance == {"mnist": 10.0, "fashion-mnist": 10.0, "cifar10": 10.0, "celeba": 50.0}
    faces = next(cell for cell in item.cells if cell.value == 69.26)
    ours = Measured(value=48.0, interval=(46.0, 49.5), num_seeds=3)
    assert judge(item, faces, ours, []) == NO, "below the chance of two classes"


def test_a_table_of_another_paper_has_its_own_settings() -> None:
    """Zheng & Li's DM sees pixels in [−1, 1]; their DP-MERF has σ = 5 where ε = 1 is printed, GS-WGAN its code's σ."""
    dm = plan_item(
        Reproduce(item="zheng-li/table-1", scale="full", methods=("dm",)), published_item("zheng-li/table-1")
    )
    assert {(cell.spec.settings["normalisation"], cell.spec.settings["victim.normalisation"]) for cell in dm} == {
        ("half", "half")
    }
    assert not any("normalisation" in said for cell in dm for said in cell.differs)
    merf = plan_item(
        Reproduce(item="zheng-li/table-2", scale="full", methods=("dp-merf",)), published_item("zheng-li/table-2")
    )
    assert {(cell.spec.settings["noise_multiplier"], cell.spec.epsilon) for cell in merf} == {("5", ())}
    asked = Reproduce(item="dong/table-3", scale="full", methods=("gs-wgan as published",))
    for cell in plan_item(asked, published_item("dong/table-3")):
        assert cell.spec.epsilon is None
        assert (cell.spec.settings["noise_multiplier"], cell.spec.settings["accounting"]) == ("1.07", "apart")


@pytest.mark.parametrize(("low", "said"), [(0.08, 1), (0.12, 0)])
def test_networks_at_chance_are_told(low: float, said: int) -> None:
    """An attack that fails on networks that learned nothing says nothing."""
    utility = SimpleNamespace(accuracy=low + 0.02, accuracy_interval=(low, low + 0.04))
    record = SimpleNamespace(utility=utility, game=SimpleNamespace(num_classes=10))
    assert len(untrained_networks(record)) == said
    assert untrained_networks(SimpleNamespace()) == ()
