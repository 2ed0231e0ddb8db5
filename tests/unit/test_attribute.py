"""Masked parts of records guessed from released sets: what the adversary knows, what members gain, and controls."""

import json
from pathlib import Path

import numpy as np
import pytest

import audit
from attacks.attribute import (
    MaskedRecords,
    SetParts,
    first_guesses,
    guess_with_set,
    guess_without_set,
    learn_corrections,
    usual_parts,
)
from audit.engine.executor import InProcess
from audit.games.attribute.config import resolve_attribute, resolved_command
from audit.games.attribute.mask import choose_mask
from audit.games.attribute.measure import differences, who_started
from audit.records import AttributeRecord
from audit.specs.attribute import Attribute
from audit.specs.options import parse
from audit.statistics.clustered import interval_of_mean
from condensers.errors import AuditError
from condensers.randomness import stream
from reports.records.attribute import EASIER, NO_DIFFERENCE
from reports.records.kinds import load_record

NUM_CLASSES = 3
SMALL = Attribute(method="real", records=100, ipc=2, shadows=16, test_runs=6, seed=5, device="cpu")


def records_of(seed: int = 0, num_records: int = 120) -> MaskedRecords:
    """Masked features are a linear map of the visible ones and noise, another mean for each class."""
    generator = stream(seed, "masked records")
    labels = np.repeat(np.arange(NUM_CLASSES), num_records // NUM_CLASSES)
    visible = generator.normal(size=(num_records, 8)) + 2 * labels[:, None]
    masked = visible @ generator.normal(size=(8, 5)) + 3 * generator.normal(size=(num_records, 5)) + labels[:, None]
    return MaskedRecords(visible=visible, masked=masked, labels=labels, folds=generator.permutation(num_records) % 4)


def copies_of(records: MaskedRecords, chosen: np.ndarray) -> SetParts:
    own = np.flatnonzero(chosen)
    return SetParts(visible=records.visible[own], masked=records.masked[own], labels=records.labels[own])


def test_first_guess_of_a_record_does_not_depend_on_its_masked_part() -> None:
    records = records_of()
    before = first_guesses(records)
    changed = records.masked.copy()
    own = records.folds == 1
    changed[own] += 100.0
    after = first_guesses(
        MaskedRecords(visible=records.visible, masked=changed, labels=records.labels, folds=records.folds)
    )
    np.testing.assert_array_equal(before[1], after[1])  # whoever guesses fold 1 has seen nothing of it
    np.testing.assert_array_equal(before[0][own], after[0][own])  # nor whoever learns from it, while it guesses it
    assert not np.allclose(before[0][records.folds == 2], after[0][records.folds == 2])


def test_first_guess_against_least_squares() -> None:
    """Plenty of records and hardly any penalty: what ordinary least squares gives."""
    records = records_of(num_records=3000)
    known, asked = records.folds != 2, records.folds == 2
    design = np.concatenate([records.visible, np.eye(NUM_CLASSES)[records.labels]], 1)
    weights = np.linalg.lstsq(design[known], records.masked[known], rcond=None)[0]
    guess = guess_without_set(records, first_guesses(records))
    np.testing.assert_allclose(guess[asked], design[asked] @ weights, atol=0.2)


def play(records: MaskedRecords, release, runs: int = 20, fit: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Run by run what members gain over non-members, and the errors of the test runs; `release(members, run)`."""
    members = stream(1, "coins").random((runs, len(records.labels))) < 0.5
    sets = [release(own, run) for run, own in enumerate(members)]
    guesses = first_guesses(records)
    usual = usual_parts(sets[:fit], NUM_CLASSES)
    coefficients = learn_corrections(records, guesses, sets[:fit], usual)
    errors = np.array([records.errors(guess_with_set(records, guesses, coefficients, one, usual)) for one in sets])
    gain = records.errors(guess_without_set(records, guesses)) - errors
    return differences(gain[fit:], members[fit:], gain[:fit].mean(0)), errors[fit:]


def test_copies_of_members_are_reconstructed() -> None:
    records = records_of()
    found, errors = play(records, lambda members, _run: copies_of(records, members))
    members = stream(1, "coins").random((20, 120))[12:] < 0.5
    assert errors[members].max() < 0.02
    assert errors[~members].mean() > 0.05
    assert found.mean() > 0.05


def test_a_set_of_strangers_gives_members_nothing() -> None:
    """The set tells about the population; who was in gains no more than the others."""
    records = records_of()
    strangers = records_of(seed=0)
    moved = stream(2, "strangers").normal(size=strangers.masked.shape)

    def release(_members: np.ndarray, run: int) -> SetParts:
        chosen = stream(3, "chosen strangers", run).random(120) < 0.3
        return SetParts(
            visible=strangers.visible[chosen] + moved[chosen][:, :1],
            masked=strangers.masked[chosen] + moved[chosen],
            labels=strangers.labels[chosen],
        )

    found, _ = play(records, release)
    assert abs(found.mean()) < 3 * found.std(ddof=1) / np.sqrt(len(found))


def test_difference_of_members_is_unbiased_against_theory() -> None:
    """Over all outcomes of the coins its mean is the mean effect of being in, whatever the centre."""
    generator = stream(4, "differences")
    level, effect, centre = generator.normal(size=(3, 4))
    outcomes = np.array([[bit == "1" for bit in f"{number:04b}"] for number in range(16)])
    values = level + effect * outcomes
    assert differences(values, outcomes, centre).mean() == pytest.approx(effect.mean())


def test_intervals_of_what_members_gain_cover_nought_where_nothing_leaks() -> None:
    """5% of 95% intervals may miss it, and 2.5% lie above it, which is what the finding rests on."""
    num_audits, num_runs, num_records = 2000, 6, 40
    generator = stream(6, "audits without a leak")
    level = generator.normal(size=(num_audits, 1, num_records))
    shared = generator.normal(size=(num_audits, num_runs, 1))  # runs differ for all of their records at once
    gain = level + shared + generator.normal(size=(num_audits, num_runs, num_records))
    members = generator.random(gain.shape) < 0.5
    found = [differences(gain[k], members[k], level[k, 0] + 0.3) for k in range(num_audits)]
    intervals = np.array([interval_of_mean(values, np.arange(num_runs), 0.95) for values in found])
    for share, most in (((intervals[:, 0] > 0).mean(), 0.025), ((intervals * [1, -1] > 0).any(1).mean(), 0.05)):
        assert share < most + 3 * np.sqrt(most * (1 - most) / num_audits)
    assert (intervals[:, 0] > 0).mean() > 0.01  # nor is it wide for nothing


def test_who_started_against_the_list() -> None:
    found = who_started(np.array([[0, 2, -1], [1, 1, -1]]), 4)
    assert found.tolist() == [[True, False, True, False], [False, True, False, False]]


@pytest.mark.parametrize(("part", "opposite"), [("right-half", "left-half"), ("top-half", "bottom-half")])
def test_halves_of_an_image_are_complements(part: str, opposite: str) -> None:
    shape = (3, 8, 6)
    one, other = choose_mask(part, shape), choose_mask(opposite, shape)
    assert (one ^ other).all()
    assert choose_mask("centre", shape).sum() == 3 * 4 * 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "neither right-half, left-half"),
        ("1 2 x", "holds 'x' where the number of a feature"),
        ("0 64", "there is no feature 64; a record has 0…63"),
        ("", "holds '' where"),
        (" ".join(map(str, range(64))), "masks 64 of 64 features"),
    ],
)
def test_a_mask_that_is_none_is_one_line(tmp_path: Path, text: str | None, said: str) -> None:
    path = tmp_path / "mask.txt"
    if text is not None:
        path.write_text(text)
    with pytest.raises(AuditError, match=said) as error:
        choose_mask(str(path), (1, 8, 8))
    assert error.value.exit_code == 2
    assert "\n" not in str(error.value)


def test_masks_of_tables_are_named_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "m").write_text("\ufeff# columns\n3, 1\n", encoding="utf-8")
    assert np.flatnonzero(choose_mask(str(tmp_path / "m"), (5,))).tolist() == [1, 3]
    with pytest.raises(AuditError, match="rows of a table"):
        choose_mask("centre", (5,))


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> AttributeRecord:
    """The method that publishes records."""
    return audit.run(SMALL, out=tmp_path_factory.mktemp("runs"), executor=InProcess(), progress=False)


def test_published_records_are_reconstructed(published: AttributeRecord) -> None:
    found = published.guessing
    assert published.finding == EASIER
    assert found.member_gain.interval[0] > 0
    assert found.start_gain is not None
    assert found.start_gain.value > 3 * found.gain.value
    assert found.reconstructed_members.interval[0] > 0.2  # 2 of some 5 members per class are published
    assert found.reconstructed_nonmembers.value < 0.02
    assert found.error_members.value < found.error_nonmembers.value < 1.2 * found.error_without
    assert published.epsilon.lower > 0
    assert published.interval_unit == "runs, given this public randomness"


def test_shuffled_membership_gains_nothing(published: AttributeRecord, tmp_path: Path) -> None:
    control = audit.run(SMALL.but(shuffle_membership=True), out=tmp_path, executor=InProcess(), progress=False)
    low, high = control.guessing.member_gain.interval
    assert low < 0 < high
    assert control.finding == NO_DIFFERENCE
    assert control.epsilon.lower == 0
    assert control.guessing.gain == published.guessing.gain  # the same sets; the coins alone are others
    assert control.threat_model[0].startswith("CONTROL")


def test_record_and_pages_of_attributes(published: AttributeRecord, tmp_path: Path) -> None:
    directory = Path(published.run_directory)
    stored = (directory / "report.json").read_text()
    assert json.loads(stored)["schema"] == "condensation-audit-attribute/1"
    assert load_record(stored).guessing == published.guessing
    assert audit.load(directory) == published
    page = (directory / "report.html").read_text(encoding="utf-8")
    for words in (
        EASIER, "members against non-members: further gain of members", "error without the set",
        "given this public randomness", "not a breach of privacy",
    ):  # fmt: skip
        assert words in page, words
    assert published.to_pdf(tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    assert published.command.startswith("audit attribute --method real")
    config = resolve_attribute(SMALL, None)[0]
    again = resolve_attribute(parse(Attribute, resolved_command(config).split()[2:]), None)[0]
    assert again.digest == config.digest


def test_draws_have_adversaries_of_their_own(tmp_path: Path) -> None:
    spec = SMALL.but(shadows=16, test_runs=4, public_draws=2)
    record = audit.run(spec, out=tmp_path, executor=InProcess(), progress=False)
    assert record.interval_unit == "public draws"
    assert record.finding in (EASIER, NO_DIFFERENCE)
    assert record.game.public_draws == 2
