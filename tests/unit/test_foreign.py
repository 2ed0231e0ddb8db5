"""Sets of another maker as test runs: sizes, labels, claims, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import rankdata

from attacks.released import Released, set_signals
from audit.data.load import load_pool, pool_checksum, pool_rows
from audit.games.membership.coins import Coins, draw_coins, write_coins
from audit.games.membership.foreign import Foreign, as_released, asserted, label_claim, read_foreign
from audit.sets.synthetic import SyntheticSet
from audit.specs.pictures import Visual
from condensers.errors import AuditError, BadData
from condensers.pool import Pool
from condensers.randomness import stream

FIT, TEST, CLASSES, PER_CLASS, PIXELS = 40, 6, 3, 30, 16


def condensed(ipc: int, *, soft: bool = False) -> tuple[Pool, Released, np.ndarray]:
    """Class means of the members with some noise: fit runs first, then test runs."""
    generator = stream(1, "records")
    images = generator.standard_normal((CLASSES * PER_CLASS, PIXELS)).astype(np.float32)
    labels = torch.arange(CLASSES).repeat_interleave(PER_CLASS)
    pool = Pool(name="p", images=torch.from_numpy(images), labels=labels, num_classes=CLASSES)
    members = generator.random((FIT + TEST, pool.num_records)) < 0.5
    means = np.stack(
        [[images[place][row[place]].mean(0) for place in pool.class_slices] for row in members]
    )  # fmt: skip
    sets = np.repeat(means, ipc, axis=1) + 0.02 * generator.standard_normal((FIT + TEST, ipc * CLASSES, PIXELS))
    held = np.tile(np.repeat(np.arange(CLASSES), ipc), (FIT + TEST, 1))
    if soft:
        held = np.eye(CLASSES, dtype=np.float32)[held]
    return pool, Released(images=sets.astype(np.float32), labels=held), members


def apart(released: Released) -> tuple[Released, list[Released]]:
    """The fit runs, and each test run by itself."""
    fit = Released(images=released.images[:FIT], labels=released.labels[:FIT])
    rows = range(FIT, FIT + TEST)
    return fit, [Released(images=released.images[[r]], labels=released.labels[[r]]) for r in rows]


@pytest.mark.parametrize(("ipc", "soft"), [(1, False), (2, False), (2, True)])
def test_sets_of_the_same_size_against_runs_of_one_table(ipc: int, soft: bool) -> None:
    pool, released, members = condensed(ipc, soft=soft)
    together = set_signals(pool, released, members[:FIT], None)
    fit, others = apart(released)
    assert np.allclose(set_signals(pool, fit, members[:FIT], None, others), together, atol=1e-5)


def test_sizes_of_a_set_do_not_look_like_a_leak_against_the_set_itself() -> None:
    """Images twice, classes of unequal size: the same class means, so the same signals."""
    pool, released, members = condensed(1)
    fit, others = apart(released)
    plain = set_signals(pool, fit, members[:FIT], None, others)
    for repeats in ([2, 2, 2], [1, 5, 2]):
        wider = [
            Released(images=np.repeat(other.images, repeats, axis=1), labels=np.repeat(other.labels, repeats, axis=1))
            for other in others
        ]
        assert np.allclose(set_signals(pool, fit, members[:FIT], None, wider), plain, atol=1e-5)


def test_class_without_an_image_says_nothing_of_means_and_others_stay() -> None:
    pool, released, members = condensed(1)
    fit, others = apart(released)
    plain = set_signals(pool, fit, members[:FIT], None, others)
    fewer = [Released(images=other.images[:, 1:], labels=other.labels[:, 1:]) for other in others]
    found = set_signals(pool, fit, members[:FIT], None, fewer)
    assert np.allclose(found[FIT:, PER_CLASS:], plain[FIT:, PER_CLASS:], atol=1e-5)
    own = found[FIT:, :PER_CLASS]
    inside = members[FIT:, :PER_CLASS]
    ranks = rankdata(own.ravel())[inside.ravel()].sum() - inside.sum() * (inside.sum() + 1) / 2
    assert abs(ranks / (inside.sum() * (~inside).sum()) - 0.5) < 4 * np.sqrt(1 / (3 * inside.size))


def test_soft_and_hard_labels_come_to_the_kind_of_the_shadows() -> None:
    images = torch.arange(6.0).reshape(3, 2)
    one = SyntheticSet(
        name="s", images=images, labels=torch.tensor([2, 0, 0]), normalisation="", label=None
    )  # fmt: skip
    soft = SyntheticSet(
        name="t", images=images, labels=torch.tensor([[0.1, 0, 0.9], [1, 0, 0], [0.8, 0.2, 0]]), normalisation="",
        label=None,
    )  # fmt: skip
    foreign = Foreign(sets=(one, soft), members=None, facts={})
    hard = as_released(foreign, soft=False, num_classes=3)
    for found in hard:
        assert found.labels.tolist() == [[0, 0, 2]]
        assert found.images.tolist() == [[[2, 3], [4, 5], [0, 1]]]
    softened = as_released(foreign, soft=True, num_classes=3)
    assert softened[0].labels.tolist() == [[[0, 0, 1], [1, 0, 0], [1, 0, 0]]]
    assert np.array_equal(softened[1].labels[0], soft.labels.numpy())
    pool, released, members = condensed(1)
    with pytest.raises(BadData, match="cannot be compared"):
        set_signals(pool, released, members[:FIT], None, softened)


def labelled(privacy: object) -> SyntheticSet:
    label = None if privacy is None else {"privacy": privacy, "starts_from_records": False}
    labels = torch.zeros(1, dtype=torch.int64)
    return SyntheticSet(name="s", images=torch.zeros(1, 2), labels=labels, normalisation="", label=label)


def test_claim_is_that_of_all_labels_at_this_delta() -> None:
    small, large = ({"epsilon_rdp": e + 0.5, "epsilon_pld": e, "delta": 1e-6} for e in (1.0, 3.0))
    both = Foreign(sets=(labelled(small), labelled(large)), members=None, facts={})
    claim = label_claim(both, 1e-5)
    assert claim is not None
    assert (claim.epsilon_pld, claim.epsilon_rdp, claim.delta) == (3.0, 3.5, 1e-5)
    assert label_claim(both, 1e-7) is None, "it holds at its own δ and above only"
    assert label_claim(Foreign(sets=(labelled(small), labelled(None)), members=None, facts={}), 1e-5) is None
    with pytest.raises(BadData, match="cannot be read"):
        label_claim(Foreign(sets=(labelled({"delta": 0}),), members=None, facts={}), 1e-5)
    assert not both.may_show_records
    assert Foreign(sets=(labelled(None),), members=None, facts={}).may_show_records


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Coins of 200 digits for three sets, a file of two sets, one of another size and one of other pictures."""
    folder = tmp_path_factory.mktemp("files")
    pool = load_pool("digits", records=200)
    coins = Coins(dataset="digits", checksum=pool_checksum(pool), members=draw_coins(3, 200, 1))
    write_coins(folder / "coins.csv", coins, pool_rows("digits", records=200), pool.labels.numpy())
    pairs = [[pool.images[k::20], pool.labels[k::20]] for k in range(2)]
    torch.save({"data": pairs}, folder / "two.pt")
    np.savez(folder / "one.npz", x=pool.images[5::10].numpy(), y=pool.labels[5::10].numpy())
    np.savez(folder / "large.npz", x=np.zeros((10, 1, 9, 9), np.float32), y=np.arange(10))
    return folder


def spec(folder: Path, *names: str, **changes: Any) -> Visual:
    given = {
        "synthetic": tuple(str(folder / name) for name in names),
        "members": str(folder / "coins.csv"),
        "normalisation": "symmetric",
    }
    return Visual(**given | changes)


def test_sets_and_coins_are_paired_in_order_or_as_told(files: Path) -> None:
    pool, drawn = load_pool("digits", records=200), draw_coins(3, 200, 1)
    found = read_foreign(spec(files, "two.pt", "one.npz"), pool)
    assert found.members is not None
    assert np.array_equal(found.members, drawn[:2])
    assert [len(one.images) for one in found.sets] == [10, 20]
    told = read_foreign(spec(files, "two.pt", "two.pt", index=(1, 0), column=(2, 1)), pool)
    assert told.members is not None
    assert np.array_equal(told.members, drawn[[2, 1]])
    assert torch.equal(told.sets[0].images, pool.images[1::20])
    assert told.facts["coins"] != found.facts["coins"]
    assert (told.facts["index"], told.facts["columns"]) == ([1, 0], [2, 1])
    assert "two.pt of column set_2, two.pt of column set_1" in asserted(told)[1]


@pytest.mark.parametrize(
    ("names", "changes", "message"),
    [
        (("two.pt", "two.pt"), {}, "the same set is given twice"),
        (("two.pt", "one.npz"), {"column": (1, 1)}, "two sets cannot have the same coins"),
        (("two.pt", "one.npz"), {"column": (1,)}, "--column: given 1 times for 2 sets"),
        (("two.pt",), {"column": (3,)}, "--column 3: .* has coins of 3 sets"),
        (("two.pt",), {"index": (2,)}, "--index 2: .* holds 2 set"),
        (("two.pt",), {"column": (1,), "members": None}, "--column: can only be given together with --members FILE"),
        (("large.npz",), {}, "its images are 1×9×9, but the records of digits are 1×8×8"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(
    files: Path, names: tuple[str, ...], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(AuditError, match=message) as refusal:
        read_foreign(spec(files, *names, **changes), load_pool("digits", records=200))
    assert refusal.value.exit_code == 2
    assert "\n" not in str(refusal.value)
