import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.data.pickled_arrays import read_pickled_arrays
from condensers.errors import BadData


def pickled(value: object) -> bytes:
    """Protocol 3 as numpy 1 wrote it: newer ones have renamed a module."""
    return pickle.dumps(value, protocol=3).replace(b"numpy._core.multiarray", b"numpy.core.multiarray")


def nested() -> dict:
    generator = np.random.default_rng(0)
    return {
        "net": {f"Conv_{i}": {"kernel": generator.normal(size=(3, 3, 2, i + 1)).astype("<f4")} for i in range(2)},
        "bias": generator.normal(size=300).astype("<f4"),
        "none": np.zeros((0, 4), "<f4"),
    }


def test_arrays_against_pickle() -> None:
    found = read_pickled_arrays(pickled(nested()), where="file")
    assert sorted(found) == ["bias", "net.Conv_0.kernel", "net.Conv_1.kernel", "none"]
    np.testing.assert_array_equal(found["bias"], nested()["bias"])
    np.testing.assert_array_equal(found["net.Conv_1.kernel"], nested()["net"]["Conv_1"]["kernel"])
    assert found["none"].shape == (0, 4)


class Bomb:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_nothing_in_a_pickle_is_called(tmp_path) -> None:
    marker = tmp_path / "called"
    with pytest.raises(BadData, match="it would call"):
        read_pickled_arrays(pickle.dumps({"a": Bomb(str(marker))}, protocol=3), where="file")
    assert not marker.exists()


def contains_itself() -> bytes:
    value: dict = {}
    value["again"] = value
    return pickle.dumps(value, protocol=3)


GOOD = pickled(nested())


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not a pickle",
        GOOD[:-200],
        GOOD.replace(b"f4", b"i4"),
        GOOD.replace(b"numpy ndarray"[:5], b"nympy"),
        pickle.dumps({"a": [1.0]}, protocol=3),
        pickle.dumps({"a": 1.0}, protocol=4),
        pickled({"a": np.zeros(3, "<f8")}),
        pickled({"a": np.asfortranarray(np.zeros((3, 2), "<f4"))}),
        pickled({"a": np.zeros(3, ">f4")}),
        pickled(nested()["bias"].tobytes()),
        contains_itself(),
    ],
    ids=[
        "empty",
        "text",
        "cut",
        "integers",
        "names",
        "list",
        "protocol",
        "double",
        "columns",
        "big",
        "bytes",
        "itself",
    ],
)
def test_anything_else_is_refused_in_a_line(content: bytes) -> None:
    with pytest.raises(BadData) as error:
        read_pickled_arrays(content, where="file")
    assert "\n" not in str(error.value)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(GOOD) - 1), st.integers(0, 255))
def test_a_changed_byte_is_read_or_refused_but_never_a_crash(position: int, value: int) -> None:
    content = bytearray(GOOD)
    content[position] = value
    try:
        arrays = read_pickled_arrays(bytes(content), where="file")
    except BadData:
        return
    assert all(array.dtype == np.float32 for array in arrays.values())
