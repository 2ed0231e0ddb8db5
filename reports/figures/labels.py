"""Where to write the names of marks that lie close together, so that neither names nor marks hide each other."""

from collections.abc import Sequence

Place = tuple[float, float]
_DIRECTIONS = ((0, -1), (0, 1), (1, 0), (-1, 0), (0.8, -0.8), (-0.8, -0.8), (0.8, 0.8), (-0.8, 0.8))
_RINGS = (1.0, 1.8, 2.7, 3.6, 4.5)


def place_labels(marks: Sequence[Place], names: Sequence[str], *, size: float, mark: float = 6.0) -> list[Place]:
    """Offsets of the names' centres from their marks, the nearest that are free; `size` is that of the type.

    One after the other, and the nearest all the same where nothing is free.
    """
    taken = [(x, y, mark, mark) for x, y in marks]
    offsets = []
    for (x, y), name in zip(marks, names, strict=True):
        width, height = 0.62 * size * len(name), 1.1 * size
        reach = [(ring * (width + mark) / 2 + 1, ring * (height + mark) / 2 + 1) for ring in _RINGS]
        tried = [(right * across, up * along) for across, along in reach for right, up in _DIRECTIONS]
        free = (offset for offset in tried if not _touches((x + offset[0], y + offset[1], width, height), taken))
        offsets.append(next(free, tried[0]))
        taken.append((x + offsets[-1][0], y + offsets[-1][1], width, height))
    return offsets


def _touches(box: tuple[float, float, float, float], others: Sequence[tuple[float, float, float, float]]) -> bool:
    x, y, width, height = box
    return any(abs(x - u) < (width + w) / 2 and abs(y - v) < (height + h) / 2 for u, v, w, h in others)
