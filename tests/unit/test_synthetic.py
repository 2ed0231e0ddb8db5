"""Layouts of synthetic sets: what was written is read back, and what a file may not do it does not."""

import collections
import io
import json
import os
import zipfile

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from audit.games.release import FORMATS, draw_grid, write_release
from audit.sets.synthetic import check_fit, digest_of, read_synthetic
from condensers.errors import BadConfig, BadData
from condensers.normalisation import OFFICIAL, SYMMETRIC, normalise, to_symmetric
from condensers.pool import Pool


def make_set(channels=1, size=8, soft=False, seed=0):
    generator = np.random.default_rng(seed)
    images = torch.from_numpy(generator.standard_normal((6, channels, size, size)).astype(np.float32))
    if soft:
        return images, torch.from_numpy(generator.standard_normal((6, 3)).astype(np.float32))
    return images, torch.tensor([0, 0, 1, 1, 2, 2])


def label_of(images, labels, dataset="digits"):
    return {"dataset": dataset, "sha256": digest_of(images, labels), "method": "dm"}


@pytest.mark.parametrize("soft", [False, True], ids=["hard", "soft"])
@pytest.mark.parametrize("kind", FORMATS)
def test_round_trip_against_the_bits_that_were_written(tmp_path, kind, soft):
    images, labels = make_set(soft=soft)
    label = label_of(images, labels)
    files = write_release(tmp_path, images, labels, label, (kind,))
    found = read_synthetic(files[kind], dataset="digits")
    assert torch.equal(found.images, images)
    assert torch.equal(found.labels, labels)
    assert found.labels.dtype == labels.dtype
    assert found.label == label
    assert found.normalisation == "as the file states"


@pytest.mark.parametrize("dataset", list(OFFICIAL))
def test_round_trip_through_official_numbers_against_rounding(tmp_path, dataset):
    channels = len(OFFICIAL[dataset].mean)
    images, labels = make_set(channels=channels)
    files = write_release(tmp_path, images, labels, label_of(images, labels, dataset), ("pt",))
    found = read_synthetic(files["pt"])
    # One rounding to float32 of numbers below 2^5, scaled by 2·std < 1.
    assert float((found.images - images).abs().max()) <= 2.0**5 * 2.0**-24
    stored = torch.load(files["pt"], weights_only=True)["data"][0][0]
    pixels = images.double() / 2 + 0.5
    mean, std = (torch.tensor(v, dtype=torch.float64).view(1, -1, 1, 1) for v in vars(OFFICIAL[dataset]).values())
    assert torch.allclose(stored.double(), (pixels - mean) / std, atol=1e-5)


def test_normalisations_are_inverse_to_each_other():
    images, _ = make_set(channels=3)
    for how in (SYMMETRIC, OFFICIAL["cifar10"]):
        assert torch.allclose(to_symmetric(normalise(images, how), how), images, atol=1e-6)
    assert torch.equal(normalise(images, SYMMETRIC), images)


def official_file(path, sets, protocol_scalars=True):
    accuracies = {"ConvNet": [np.float64(0.5), np.float64(0.25)]} if protocol_scalars else {}
    torch.save({"data": sets, "accs_all_exps": accuracies}, path)
    return path


def test_file_of_the_official_code_with_its_numpy_accuracies(tmp_path):
    sets = [list(make_set(seed=seed)) for seed in range(3)]
    path = official_file(tmp_path / "res_DM_MNIST_ConvNet_2ipc.pt", sets)
    for index, (images, labels) in enumerate(sets):
        found = read_synthetic(path, dataset="mnist", index=index)
        assert found.num_sets == 3
        assert torch.equal(found.labels, labels)
        assert torch.equal(found.images, to_symmetric(images, OFFICIAL["mnist"]))
        assert "a guess" in found.normalisation
    with pytest.raises(BadConfig, match="--index 3"):
        read_synthetic(path, index=3)


@pytest.mark.parametrize("wrap", [lambda x, y: (x, y), lambda x, y: {"images": x, "labels": y}], ids=["pair", "names"])
def test_other_layouts_of_pt(tmp_path, wrap):
    images, labels = make_set()
    torch.save(wrap(images, labels), tmp_path / "set.pt")
    found = read_synthetic(tmp_path / "set.pt", normalisation="symmetric")
    assert torch.equal(found.images, images)
    assert torch.equal(found.labels, labels)


def test_channels_last_bytes_and_grey_without_channel(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (4, 9, 9, 3), dtype=np.uint8)
    np.savez(tmp_path / "a.npz", x=pixels, y=np.arange(4))
    found = read_synthetic(tmp_path / "a.npz")
    assert torch.allclose(found.images, torch.from_numpy(pixels.transpose(0, 3, 1, 2) / 127.5 - 1).float(), atol=1e-6)
    np.savez(tmp_path / "b.npz", images=pixels[..., 0] / 255.0, labels=np.arange(4))
    grey = read_synthetic(tmp_path / "b.npz")
    assert torch.allclose(grey.images, found.images[:, :1], atol=1e-6)
    assert grey.normalisation.startswith("[0, 1] (a guess")


class Bomb:
    """Unpickled without care, it makes a folder."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("legacy", [False, True], ids=["zip", "bare pickle"])
def test_malicious_pt_executes_nothing(tmp_path, legacy):
    images, labels = make_set()
    target = tmp_path / "executed"
    torch.save(
        {"data": [[images, labels]], "accs_all_exps": Bomb(target)},
        tmp_path / "bomb.pt",
        _use_new_zipfile_serialization=not legacy,
    )
    with pytest.raises(BadData, match=r"never loaded|nothing in it was executed") as refusal:
        read_synthetic(tmp_path / "bomb.pt")
    assert "\n" not in str(refusal.value)
    assert not target.exists()
    content = (tmp_path / "bomb.pt").read_bytes()
    assert b"mkdir" in content
    assert str(target).encode() in content


def test_blank_stands_in_for_numpy_scalars_only(tmp_path):
    images, labels = make_set()
    torch.save({"images": np.asarray(images), "labels": labels}, tmp_path / "array.pt")
    with pytest.raises(BadData, match="nothing in it was executed"):
        read_synthetic(tmp_path / "array.pt")
    torch.save({"images": np.float64(1.0), "labels": labels}, tmp_path / "scalar.pt")
    with pytest.raises(BadData, match="images is a"):
        read_synthetic(tmp_path / "scalar.pt")


def test_object_array_in_npz_is_refused(tmp_path):
    target = tmp_path / "executed"
    np.savez(tmp_path / "bomb.npz", x=np.array([Bomb(target)], dtype=object), y=np.arange(1))
    with pytest.raises(BadData, match="never loaded"):
        read_synthetic(tmp_path / "bomb.npz")
    assert not target.exists()


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("kept", [0.0, 0.3, 0.9, 0.999])
def test_truncated_file_is_one_clear_line(tmp_path, kind, kept):
    images, labels = make_set()
    path = write_release(tmp_path, images, labels, label_of(images, labels), (kind,))[kind]
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content))])
    with pytest.raises(BadData) as refusal:
        read_synthetic(path)
    assert "\n" not in str(refusal.value)
    assert path.name in str(refusal.value)


def test_altered_set_does_not_pass_for_the_one_on_its_label(tmp_path):
    images, labels = make_set()
    label = label_of(images, labels)
    for kind in FORMATS:
        path = write_release(tmp_path, images + 0.01, labels, label, (kind,))[kind]
        with pytest.raises(BadData, match="altered"):
            read_synthetic(path)


def test_archive_that_unpacks_to_too_much_is_refused_unread(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "big.npz", x=np.zeros((1000, 1, 8, 8), np.float32), y=np.zeros(1000, np.int64))
    monkeypatch.setattr("audit.sets.files.MOST_BYTES", 100_000)
    assert (tmp_path / "big.npz").stat().st_size < 100_000
    with pytest.raises(BadData, match="unpacks to"):
        read_synthetic(tmp_path / "big.npz")


def test_tensor_that_repeats_one_number_without_end_is_refused(tmp_path):
    huge = torch.zeros(1).expand(10**6, 1, 100, 100)
    assert huge.untyped_storage().nbytes() == 4
    torch.save((huge, torch.zeros(1, dtype=torch.int64).expand(10**6)), tmp_path / "huge.pt")
    with pytest.raises(BadData, match="larger than a synthetic set may be"):
        read_synthetic(tmp_path / "huge.pt")


IMAGES, LABELS = make_set()
REFUSED = {
    "labels too short": ((IMAGES, LABELS[:4]), "6 images but 4 labels"),
    "labels are fractions": ((IMAGES, LABELS / 2), "expected whole numbers"),
    "labels are truth values": ((IMAGES, LABELS > 0), "expected whole numbers"),
    "labels out of range": ((IMAGES, LABELS + 1), "run from 1 to 3"),
    "negative labels": ((IMAGES, LABELS - 1), "run from -1 to 1"),
    "soft labels of other classes": ((IMAGES, torch.rand(6, 4)), "4 classes"),
    "soft labels with NaN": ((IMAGES, torch.full((6, 3), torch.nan)), "NaN"),
    "NaN": ((IMAGES.clone().index_fill_(0, torch.tensor([4]), torch.nan), LABELS), "first image 4"),
    "whole numbers as images": ((IMAGES.long(), LABELS), "expected floats"),
    "wrong size": ((IMAGES[..., :7], LABELS), "1×8×7"),
    "five axes": ((IMAGES[None], LABELS), "expected [m, channels"),
    "no images": ((IMAGES[:0], LABELS[:0]), "expected [m, channels"),
    "four channels": ((IMAGES.expand(-1, 4, -1, -1), LABELS), "1 or 3 channels"),
    "complex": ((IMAGES.to(torch.complex64), LABELS), "real numbers"),
    "sparse": ((IMAGES.to_sparse(), LABELS), "dense"),
    "strings": (("images", "labels"), "not a tensor"),
    "a number": (3, "holds a int"),
    "other names": ({"pictures": IMAGES}, "holds pictures"),
    "pairs of one": ({"data": [[IMAGES]]}, "list of pairs"),
    "no sets": ({"data": []}, "list of pairs"),
    "std of nothing": ({"images": IMAGES, "labels": LABELS, "mean": torch.zeros(1), "std": torch.zeros(1)}, "positive"),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_what_is_no_set_of_these_records_is_one_clear_line(tmp_path, case):
    content, said = REFUSED[case]
    torch.save(content, tmp_path / "set.pt")
    pool = Pool(name="three", images=torch.zeros(6, 1, 8, 8), labels=LABELS, num_classes=3)
    with pytest.raises(BadData) as refusal:
        check_fit(read_synthetic(tmp_path / "set.pt"), pool)
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_files_of_other_kinds_are_named(tmp_path):
    (tmp_path / "page.pt").write_text("<html>not found</html>")
    (tmp_path / "page.npz").write_text("<html>not found</html>")
    (tmp_path / "set.mat").write_bytes(b"x")
    for name, said in (
        ("page.pt", "a web page"),
        ("page.npz", "a web page"),
        ("set.mat", "must end in one of"),
        ("no.pt", "no such"),
    ):
        with pytest.raises(BadData, match=said):
            read_synthetic(tmp_path / name)


def test_zip_with_other_entries_is_no_pt(tmp_path):
    with zipfile.ZipFile(tmp_path / "other.pt", "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(BadData, match="cut off or damaged"):
        read_synthetic(tmp_path / "other.pt")


def test_label_that_is_no_object_is_refused(tmp_path):
    save_file({"images": IMAGES, "labels": LABELS}, tmp_path / "set.safetensors", metadata={"label": json.dumps([1])})
    with pytest.raises(BadData, match="label is a list"):
        read_synthetic(tmp_path / "set.safetensors")
    save_file({"images": IMAGES, "labels": LABELS}, tmp_path / "bare.safetensors")
    assert read_synthetic(tmp_path / "bare.safetensors").label is None


def test_ordered_dictionaries_are_dictionaries(tmp_path):
    torch.save(collections.OrderedDict(images=IMAGES, labels=LABELS), tmp_path / "set.pt")
    assert torch.equal(read_synthetic(tmp_path / "set.pt").images, IMAGES)


def test_grid_is_a_small_png_with_a_cell_for_every_image():
    from PIL import Image

    images, labels = make_set(channels=3)
    content = draw_grid(images, labels)
    picture = np.asarray(Image.open(io.BytesIO(content)))
    assert len(content) < 100_000
    assert picture.ndim == 3
    rows, columns = 3, 2
    assert picture.shape[0] / picture.shape[1] == pytest.approx(rows / columns, rel=0.01)


def test_official_constants_against_the_dc_dsa_dm_code():
    """Its get_dataset, as copies of it in public repositories have it."""
    assert {name: (how.mean, how.std) for name, how in OFFICIAL.items()} == {
        "mnist": ((0.1307,), (0.3081,)),
        "fashion-mnist": ((0.2861,), (0.3530,)),
        "svhn": ((0.4377, 0.4438, 0.4728), (0.1980, 0.2010, 0.1970)),
        "cifar10": ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)),
    }
