"""Names beside the marks of a figure."""

import numpy as np

from reports.figures.labels import place_labels


def test_names_of_close_marks_hide_neither_names_nor_marks_against_naive() -> None:
    generator = np.random.default_rng(0)
    for _ in range(50):
        marks = [tuple(place) for place in generator.uniform(0, 40, (6, 2)).tolist()]
        names = ["1", "2, 3", "4", "5", "6", "7"]
        offsets = place_labels(marks, names, size=7)
        boxes = [(x, y, 6.0, 6.0) for x, y in marks]
        for (x, y), (right, up), name in zip(marks, offsets, names, strict=True):
            box = (x + right, y + up, 0.62 * 7 * len(name), 7.7)
            for other in boxes:
                apart = [abs(box[i] - other[i]) >= (box[i + 2] + other[i + 2]) / 2 - 1e-9 for i in (0, 1)]
                assert any(apart)
            boxes.append(box)
            assert abs(right) + abs(up) < 60
