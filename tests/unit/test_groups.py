"""Groups of records: who belongs to which, figures of each, and an error that they share."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_specs import small_spec
from test_report_simulation import simulate_report

from attacks.canaries import plant_canaries
from audit.games.membership.groups import (
    MOST_GROUPS,
    ONE_SIDED,
    Grouping,
    group_records,
    measure_groups,
    read_grouping,
)
from audit.games.membership.headline import bound_coins
from audit.games.membership.request import resolved_spec
from audit.games.membership.resolve import resolve_config
from audit.specs.membership import Compare, GanLeak, Ladder, Lira, Loss, Rmia
from audit.statistics.roc import measure_roc, record_auc
from condensers.errors import AuditError, BadData
from condensers.randomness import stream
from reports.words.groups import explain_groups, groups_table, lines_of_groups


def measured(names: tuple[str, ...], places: np.ndarray, members: np.ndarray, scores: np.ndarray) -> tuple:
    return measure_groups(
        Grouping(names=names, places=places),
        members,
        scores,
        None,
        measure=lambda own, seen: measure_roc(own, seen, confidence=0.95, seed=0),
        delta=1e-5,
        confidence=0.95,
        tries=2,
    )


def test_digests_of_specifications_without_groups_against_those_before_there_were_any() -> None:
    """As they were before `groups`, `scores` and `fair_coins` were added."""
    before = {
        Lira: "f81eb140100f", Rmia: "27d962018f4c", Loss: "9cc19f0c5ed2", GanLeak: "99ffa6418ed7",
        Compare: "77f4fa002dd1", Ladder: "d6df12d0a122",
    }  # fmt: skip
    assert {kind: kind().digest for kind in before} == before
    assert Lira(groups="label").digest != Lira().digest
    assert Lira.from_json(Lira(groups="label").to_json()) == Lira(groups="label")


def test_a_leak_in_one_group_is_found_there_and_shares_the_error_against_the_estimator() -> None:
    generator = stream(3, "planted in one group")
    members = generator.random((20, 90)) < 0.5
    places = np.arange(90) % 3
    scores = generator.normal(size=members.shape) + 4 * members * (places == 1)
    first, second, third = measured(("a", "b", "c"), places, members, scores)
    assert second.auc > 0.95
    assert second.epsilon.lower > 1
    for other in (first, third):
        assert other.auc_interval[0] < 0.5 < other.auc_interval[1]
        assert other.epsilon.lower == 0
    own = places == 1
    alone = bound_coins(members[:, own], scores[:, own], delta=1e-5, confidence=0.95, num_tries=6)
    assert second.epsilon == alone
    assert second.epsilon.num_tries == 6
    assert alone.lower < bound_coins(members[:, own], scores[:, own], delta=1e-5, confidence=0.95).lower


def test_auc_of_a_group_of_one_record_against_that_record() -> None:
    generator = stream(4, "one record")
    members = generator.random((40, 5)) < 0.5
    scores = generator.normal(size=members.shape) + members
    groups = measured(("it", "others"), np.array([0, 1, 1, 1, 1]), members, scores)
    assert groups[0].auc == pytest.approx(record_auc(members, scores)[0])
    assert groups[0].num_records == 1


def test_a_group_whose_coins_fell_on_one_side_is_legal_and_certifies_nothing() -> None:
    members = np.array([[True, False, True, False]])
    groups = measured(("one", "rest"), np.array([0, 1, 1, 1]), members, members.astype(float))
    assert groups[0].auc is None
    assert groups[0].epsilon.lower == groups[0].epsilon.ceiling == 0
    assert groups[0].epsilon.threshold_choice == ONE_SIDED
    assert groups_table(groups).rows[0][3:5] == ("–", "–")
    assert "no AUC" in lines_of_groups(groups, "")[0]


def test_groups_of_a_file_against_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "groups: mine.csv"
    text = "# a remark\nrecord,sex,group\n2,f,x\n0,m,y\n1,f,y\n"
    path.write_text(text, encoding="utf-8-sig")  # as Excel saves it
    assert read_grouping(str(path), None, 3).names == ("x", "y")
    assert read_grouping(str(path), None, 3).places.tolist() == [1, 1, 0]
    by_sex = read_grouping(f"{path}:sex", None, 3)
    assert [by_sex.names[place] for place in by_sex.places] == ["m", "f", "f"]


@pytest.mark.parametrize(
    ("text", "asked", "said"),
    [
        ("record,group\n0,a\n", "", "must name each of the records 0…1 once"),
        ("record,group\n0,a\n0,b\n", "", "must name each of the records 0…1 once"),
        ("record,group\n0,a\n1\n", "", "do not have 2 fields"),
        ("record,group\n0,a\n1,\n", "", "'' is not a valid name of a group"),
        ("record,group\n0,a\n1,\x1b[31m\n", "", "is not a valid name of a group"),
        ("record,group\n0,a\n1,b\n", ":age", "needs one column 'age', has 'record', 'group'"),
        ("", "", "needs one column 'record', has none"),
        (None, "", "neither 'label' nor a readable file"),
    ],
)
def test_a_file_that_names_no_groups_is_one_line(tmp_path: Path, text: str | None, asked: str, said: str) -> None:
    path = tmp_path / "g.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(AuditError, match=said) as error:
        read_grouping(f"{path}{asked}", None, 2)
    assert "\n" not in str(error.value)
    assert error.value.exit_code == 2


def test_too_many_groups_and_unknown_labels_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "g.csv"
    path.write_text("record,group\n" + "".join(f"{i},{i}\n" for i in range(MOST_GROUPS + 1)))
    with pytest.raises(AuditError, match="201 groups; at most 200"):
        read_grouping(str(path), None, MOST_GROUPS + 1)
    with pytest.raises(AuditError, match="labels of the records are not known"):
        read_grouping("label", None, 3)


def test_canaries_keep_groups_of_their_own_and_the_file_numbers_ordinary_records(tmp_path: Path) -> None:
    path = tmp_path / "g.csv"
    path.write_text("record,group\n" + "".join(f"{i},{'even' if i % 2 == 0 else 'odd'}\n" for i in range(40)))
    spec = small_spec(method="real", records=40, shadows=8, level="set", canaries="blank:4", groups=str(path))
    config, pool = resolve_config(spec, None)
    assert resolved_spec(config).groups == str(path)
    assert pool.num_records == 44
    members = stream(5, "coins").random((4, 44)) < 0.5
    groups = group_records(config, pool, members, stream(5, "scores").normal(size=members.shape))
    assert [(group.name, group.num_records) for group in groups] == [("even", 20), ("odd", 20), ("blank", 4)]
    assert groups[0].epsilon.num_tries == 3
    path.write_text(path.read_text().replace("3,odd", "3,even"))
    with pytest.raises(BadData, match="was changed while the audit ran"):
        group_records(config, pool, members, members.astype(float))


def test_groups_without_canaries_are_those_of_all_audited_records() -> None:
    spec = small_spec(method="real", records=40, shadows=8, level="set", groups="label", audited="20")
    config, pool = resolve_config(spec, None)
    members = stream(6, "coins").random((8, 20)) < 0.5
    groups = group_records(config, pool, members, members + stream(6, "scores").normal(size=members.shape))
    assert [(group.name, group.num_records) for group in groups] == [(f"label {k}", 2) for k in range(10)]
    assert group_records(replace(config, groups=None), pool, members, members.astype(float)) == ()
    without = resolve_config(spec.but(groups=None), None)[0]
    assert "groups" not in without.facts()
    assert without.condensation_digest == config.condensation_digest
    assert plant_canaries(pool, {}, 0) is pool


def test_table_of_groups_against_cells() -> None:
    members = stream(7, "coins").random((8, 30)) < 0.5
    groups = measured(("small", "large"), (np.arange(30) > 1).astype(int), members, members + 0.0)
    table = groups_table(groups)
    assert [column.title for column in table.columns] == [
        "group", "certified", "records", "AUC", "interval", "TPR at FPR 0.1%", "TPR at FPR 1%", "ceiling",
    ]  # fmt: skip
    assert table.rows[1][0] == "large"
    assert table.rows[1][1].startswith("ε ≥ ")
    assert table.rows[1][2:4] == ("28", "1.000")


def test_what_a_report_says_of_groups_names_the_small_ones() -> None:
    members = stream(8, "coins").random((2, 12)) < 0.5
    members[:, 0] = (True, False)
    groups = measured(("tiny", "others"), (np.arange(12) > 0).astype(int), members, members + 0.0)
    report = replace(simulate_report()[0], groups=groups)
    said = explain_groups(replace(report, config={"groups": {"asked": "label"}}))
    assert "divided among 4 tests" in said
    assert "whatever leaks: tiny" in said
    assert "Canaries" not in said
