"""CelebA, Adult and a user's folder of class folders, each written small by the tests."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from audit.data import adult
from audit.data.load import load_pool, load_test
from condensers.errors import BadData


def random_bytes(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


IS_MALE = [1, -1, -1, 1, 1, -1, 1, -1, 1, -1, -1, 1]


def write_celeba(folder: Path, *, parts: list[int] | None = None, first: int = 1) -> list[Path]:
    """Twelve pictures of one colour, number n of brightness 10·n, with a frame outside the central square."""
    pictures = folder / "img_align_celeba"
    pictures.mkdir(parents=True)
    files = [pictures / f"{first + number:06d}.jpg" for number in range(12)]
    for number, path in enumerate(files):
        pixels = np.full((218, 178, 3), 255, dtype=np.uint8)
        pixels[12:206] = 10 * number
        Image.fromarray(pixels).save(path, quality=95)
    rows = [f"{path.name} -1 {male:2d} 1" for path, male in zip(files, IS_MALE, strict=True)]
    (folder / "list_attr_celeba.txt").write_text("\n".join(["12", "Bald Male Young", *rows, ""]))
    if parts is not None:
        listed = [f"{path.name} {part}" for path, part in zip(files, parts, strict=True)]
        (folder / "list_eval_partition.txt").write_text("\n".join(listed))
    return files


@pytest.mark.parametrize(("dataset", "size"), [("celeba", 32), ("celeba-64", 64)])
@pytest.mark.parametrize("place", ["", "celeba"])
def test_celeba_against_written(tmp_path: Path, place: str, dataset: str, size: int) -> None:
    write_celeba(tmp_path / place)
    pool = load_pool(dataset, data_root=tmp_path)
    assert tuple(pool.images.shape) == (12, 3, size, size)
    female = [number for number in range(12) if IS_MALE[number] == -1]
    male = [number for number in range(12) if IS_MALE[number] == 1]
    assert pool.labels.tolist() == [0] * len(female) + [1] * len(male)
    brightness = (pool.images.mean(dim=(1, 2, 3)).numpy() + 1) * 127.5
    np.testing.assert_allclose(brightness, [10 * number for number in female + male], atol=1.5)
    assert load_test(dataset, data_root=tmp_path) is None


def test_celeba_resizing_against_torchvision(tmp_path: Path) -> None:
    from torchvision.transforms import CenterCrop, Compose, Resize

    files = write_celeba(tmp_path)
    Image.fromarray(random_bytes(218, 178, 3)).save(files[1], quality=95)
    with Image.open(files[1]) as picture:
        theirs = np.asarray(Compose([CenterCrop(178), Resize(32)])(picture)).transpose(2, 0, 1) / 127.5 - 1
    ours = load_pool("celeba", data_root=tmp_path).images[0]
    np.testing.assert_allclose(ours.numpy(), theirs, atol=1e-6)


def test_celeba_partition_against_written(tmp_path: Path) -> None:
    write_celeba(tmp_path, parts=[0] * 8 + [1, 1] + [2, 2])
    assert load_pool("celeba", data_root=tmp_path).num_records == 8
    test = load_test("celeba", data_root=tmp_path)
    assert test is not None
    assert test.labels.tolist() == [0, 1]


def test_celeba_partition_against_published(tmp_path: Path) -> None:
    """Without the list of parts, picture 162770 is the last for training and 182638 the first for the test."""
    write_celeba(tmp_path, first=162770 - 7)
    assert load_pool("celeba", data_root=tmp_path).num_records == 8
    assert load_test("celeba", data_root=tmp_path) is None
    write_celeba(tmp_path / "celeba", first=182638 - 4)
    test = load_test("celeba", data_root=tmp_path)
    assert test is not None
    assert test.num_records == 8
    with pytest.raises(BadData, match="none of the pictures"):
        load_pool("celeba", data_root=tmp_path)


def test_celeba_decodes_only_what_a_pool_takes(tmp_path: Path) -> None:
    files = write_celeba(tmp_path)
    files[-1].write_bytes(b"damaged")
    assert load_pool("celeba", data_root=tmp_path, records=6).num_records == 6
    with pytest.raises(BadData, match=r"000012\.jpg: not a picture"):
        load_pool("celeba", data_root=tmp_path)
    files[-1].unlink()
    with pytest.raises(BadData, match=r"000012\.jpg: no such picture"):
        load_pool("celeba", data_root=tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("12\nBald Young\n000001.jpg 1 1\n", "does not name the attribute Male"),
        ("", "does not name the attribute Male"),
        ("1\nBald Male\n000001.jpg 1\n", "line 3 does not hold a picture and 2 values"),
        ("1\nBald Male\n000001.jpg 1 0\n", "line 3 does not hold"),
        ("5\nBald Male\n000001.jpg 1 1\n", "announces 5 pictures but lists 1"),
        ("12\nBald Mâle\n", "not a list in plain text"),
    ],
)
def test_bad_celeba_list_is_named(tmp_path: Path, content: str, words: str) -> None:
    write_celeba(tmp_path)
    (tmp_path / "list_attr_celeba.txt").write_text(content, encoding="utf-8")
    with pytest.raises(BadData, match=words):
        load_pool("celeba", data_root=tmp_path)


def test_bad_celeba_partition_is_named(tmp_path: Path) -> None:
    write_celeba(tmp_path)
    (tmp_path / "list_eval_partition.txt").write_text("000001.jpg 0\n000002.jpg 3\n")
    with pytest.raises(BadData, match="line 2 does not hold a picture and 0, 1 or 2"):
        load_pool("celeba", data_root=tmp_path)


ROW = (
    "17, Private, 1, Bachelors, 1, Married-civ-spouse, Tech-support, Wife, White, Female, 0, 0, 1, United-States, <=50K"
)
HIGH = "90, ?, 2000000, ?, 16, ?, ?, ?, ?, ?, 100000, 9999, 99, ?, >50K"
MIDDLE = "39, State-gov, 77516, Masters, 13, Divorced, Sales, Husband, Other, Male, 2174, 0, 40, Peru, >50K"


def write_adult(folder: Path, *rows: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "adult.data").write_text("\n".join([*rows, "", ""]))


def test_adult_against_hand_encoding(tmp_path: Path) -> None:
    write_adult(tmp_path / "adult", HIGH, ROW, MIDDLE, ROW)
    (tmp_path / "adult" / "adult.test").write_text(f"|1x3 Cross validator\n{ROW}.\n{MIDDLE}.\n\n")
    pool = load_pool("adult", data_root=tmp_path)
    assert pool.labels.tolist() == [0, 0, 1, 1]
    np.testing.assert_array_equal(pool.images[0].numpy(), np.full(14, -1.0))
    np.testing.assert_array_equal(pool.images[2].numpy(), np.full(14, 1.0))
    unit = [22 / 73, 5 / 8, 77515 / 1499999, 10 / 16, 12 / 15, 1 / 7, 3 / 14, 2 / 6, 3 / 5, 1 / 2, 0.02174, 0, 39 / 98]
    np.testing.assert_allclose(pool.images[3].numpy(), 2 * np.array([*unit, 38 / 41]) - 1, atol=1e-6)
    test = load_test("adult", data_root=tmp_path)
    assert test is not None
    assert test.labels.tolist() == [0, 1]
    np.testing.assert_array_equal(test.images[1].numpy(), pool.images[3].numpy())


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (ROW.removesuffix(", <=50K"), "line 2 has 14 fields; expected 14 and the class"),
        (ROW.replace("<=50K", "50K"), "line 2: class '50K' is not one of <=50K, >50K"),
        (ROW.replace("Private", "Pirate"), "line 2: workclass 'Pirate' is not in the list"),
        (ROW.replace("17", "nan", 1), "line 2: age 'nan' is not a whole number"),
        (ROW.replace("17", "-17", 1), "line 2: age '-17' is not a whole number"),
        ("<html>", "line 2 has 1 fields"),
        ("é", "not a table in plain text"),
    ],
)
def test_bad_adult_is_named(tmp_path: Path, row: str, words: str) -> None:
    write_adult(tmp_path, ROW, row)
    with pytest.raises(BadData, match=words):
        load_pool("adult", data_root=tmp_path)


def test_adult_has_fourteen_columns_against_paper() -> None:
    """Zheng & Li §V-D: a linear network 14×64."""
    assert len(adult.COLUMNS) == 14


def write_folder(root: Path, classes: dict[str, np.ndarray]) -> None:
    for name, images in classes.items():
        (root / name).mkdir(parents=True)
        for number, pixels in enumerate(images):
            Image.fromarray(pixels).save(root / name / f"{number}.png")


@pytest.mark.parametrize("shape", [(9, 7), (9, 7, 3)])
def test_folder_against_written(tmp_path: Path, shape: tuple[int, ...]) -> None:
    cats, dogs = random_bytes(3, *shape), random_bytes(2, *shape, seed=1)
    write_folder(tmp_path / "pets", {"dogs": dogs, "cats": cats})
    (tmp_path / "pets" / "cats" / "notes.txt").write_text("not a picture")
    (tmp_path / "pets" / ".hidden").mkdir()
    pool = load_pool(str(tmp_path / "pets"))
    assert (pool.name, pool.num_classes, pool.labels.tolist()) == ("pets-folder", 2, [0, 0, 0, 1, 1])
    stored = np.concatenate([cats, dogs])
    stored = stored[:, None] if len(shape) == 2 else stored.transpose(0, 3, 1, 2)
    np.testing.assert_allclose(pool.images.numpy(), stored / 127.5 - 1, atol=1e-6)
    assert load_test(str(tmp_path / "pets")) is None


def test_numbered_folders_against_numeric_order(tmp_path: Path) -> None:
    pictures = {str(label): np.full((2, 4, 4), label, dtype=np.uint8) for label in range(11)}
    write_folder(tmp_path, pictures)
    pool = load_pool(str(tmp_path))
    np.testing.assert_allclose(pool.images[:, 0, 0, 0].numpy(), pool.labels.numpy() / 127.5 - 1, atol=1e-6)


def test_divided_folder_against_written(tmp_path: Path) -> None:
    write_folder(tmp_path / "train", {"a": random_bytes(2, 4, 4), "b": random_bytes(3, 4, 4)})
    assert load_test(str(tmp_path)) is None
    write_folder(tmp_path / "test", {"b": random_bytes(1, 4, 4)})
    assert load_pool(str(tmp_path)).labels.tolist() == [0, 0, 1, 1, 1]
    test = load_test(str(tmp_path))
    assert test is not None
    assert (test.labels.tolist(), test.num_classes) == ([1], 2)
    write_folder(tmp_path / "test", {"c": random_bytes(1, 4, 4)})
    with pytest.raises(BadData, match="c: there is no such class"):
        load_test(str(tmp_path))


def test_bad_folder_is_named(tmp_path: Path) -> None:
    def assert_named(words: str) -> None:
        with pytest.raises(BadData, match=words) as caught:
            load_pool(str(tmp_path))
        assert "\n" not in str(caught.value)

    assert_named("holds no class folders")
    write_folder(tmp_path, {"a": random_bytes(2, 4, 4)})
    assert_named("at least two classes")
    (tmp_path / "b").mkdir()
    assert_named("b: holds no pictures")
    Image.fromarray(random_bytes(4, 4)).save(tmp_path / "b" / "0.png")
    assert_named("class 1 has 1 record")
    last = tmp_path / "b" / "1.png"
    Image.fromarray(random_bytes(4, 5)).save(last)
    assert_named(r"1\.png: 5×4 grey, but .*0\.png is 4×4 grey; all pictures must have one size")
    Image.fromarray(random_bytes(4, 4, 3)).save(last)
    assert_named("4×4 RGB, but .* is 4×4 grey")
    Image.fromarray(random_bytes(4, 4, 4)).save(last)
    assert_named("mode RGBA are not supported")
    last.write_bytes(b"plain words")
    assert_named("not a picture that can be read, but text")
    last.write_bytes((tmp_path / "b" / "0.png").read_bytes()[:50])
    assert_named("not a picture that can be read, but a PNG picture, or it is damaged")
