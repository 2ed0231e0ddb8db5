"""Nothing is cut off, lost or printed over something else, however long the texts are."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from test_report_simulation import CLAIM, PROTOCOL, simulate_gallery, simulate_report

from reports.documents.membership import build_membership, gather_membership
from reports.figures.mosaic import arrange, compose
from reports.figures.style import house_style
from reports.figures.typography import Face, printable, shorten, text_width, wrap
from reports.records.gallery import Gallery, pixels, show_synthetic
from reports.records.schema import Report
from reports.render.pdf import lay_out as lay_out_document
from reports.render.pieces import BODY, CODE, wrap_command
from reports.render.sheets import FOOT, MARGIN, PAGE_HEIGHT, PAGE_WIDTH, TEXT_WIDTH, number_sheets
from reports.words.bounds import flatten

LONG_WORD = "a-rather/long_path.to=something" * 12
LONG_TEXT = "what is known of the adversary " * 30 + LONG_WORD


def lay_out(report: Report, scores, gallery: Gallery) -> list[Figure]:  # type: ignore[no-untyped-def]
    with house_style():
        document = build_membership(gather_membership(report, scores=scores, gallery=gallery))
        sheets = lay_out_document(document)
        number_sheets(sheets, document.line, document.reference)
    return sheets


def boxes_of(sheet: Figure) -> list[tuple[float, float, float, float, str]]:
    """Left, right, top and bottom of the ink of every line set on a sheet, in points from its upper left corner."""
    found = []
    for text in sheet.texts:
        if not text.get_text().strip():
            continue
        face = Face(
            size=text.get_fontsize(), leading=0, family=text.get_fontfamily()[0], weight=str(text.get_fontweight())
        )
        width = text_width(text.get_text(), face)
        x, y = text.get_position()[0] * PAGE_WIDTH, (1 - text.get_position()[1]) * PAGE_HEIGHT
        left = {"left": x, "right": x - width, "center": x - width / 2}[text.get_horizontalalignment()]
        found.append((left, left + width, y - 0.74 * face.size, y + 0.1 * face.size, text.get_text()))
    return found


def hostile_report() -> tuple[Report, object]:
    report, scores = simulate_report(runs=24, records=120, leak=1.5)
    return (
        replace(
            report,
            command="audit lira "
            + " ".join(f"--set name_{i}={'v' * i}" for i in range(40))
            + f" --data-root {LONG_WORD}",
            method="dyn-psg-with-a-long-name",
            dataset=LONG_WORD,
            level="transcript",
            verdict="REFUTED",
            verdict_reason="The bound exceeds the claim. " * 12,
            claimed=replace(CLAIM, epsilon_pld=0.2, source=LONG_TEXT[:400]),
            bounds=report.bounds * 6,
            protocols=(PROTOCOL, replace(PROTOCOL, note=LONG_TEXT[:300])) * 3,
            threat_model=(LONG_TEXT, *report.threat_model * 4),
            config={f"group.{'n' * (i % 50)}{i}": {"value": "x" * (3 * i)} for i in range(70)},
            digest="9f86d081884c7d659a2feaa0c55ad015" * 2,
        ),
        scores,
    )


@pytest.fixture(scope="module", params=["ordinary", "hostile"])
def sheets(request: pytest.FixtureRequest) -> list[Figure]:
    report, scores = simulate_report(runs=24, records=120) if request.param == "ordinary" else hostile_report()
    return lay_out(report, scores, simulate_gallery(shape=(28, 28, 1), per_class=50))


def test_no_line_leaves_the_page_or_covers_another_against_measured_boxes(sheets: list[Figure]) -> None:
    for number, sheet in enumerate(sheets, start=1):
        boxes = boxes_of(sheet)
        for left, right, top, bottom, text in boxes:
            where = f"page {number}: {text!r}"
            assert left >= MARGIN - 1, where
            assert right <= PAGE_WIDTH - MARGIN + 1, where
            assert top >= MARGIN - 6, where
            assert bottom <= PAGE_HEIGHT - FOOT / 2, where
        for index, (left, right, top, bottom, text) in enumerate(boxes):
            for other_left, other_right, other_top, other_bottom, other in boxes[index + 1 :]:
                apart = left >= other_right or other_left >= right or top >= other_bottom or other_top >= bottom
                assert apart, f"page {number}: {text!r} and {other!r}"


def test_axes_stand_clear_of_the_text_against_measured_boxes(sheets: list[Figure]) -> None:
    for sheet in sheets:
        for axes in sheet.axes:
            box = axes.get_position()
            x0, x1 = box.x0 * PAGE_WIDTH, box.x1 * PAGE_WIDTH
            y0, y1 = (1 - box.y1) * PAGE_HEIGHT, (1 - box.y0) * PAGE_HEIGHT
            assert x0 >= MARGIN - 1
            assert x1 <= PAGE_WIDTH - MARGIN + 1
            assert y1 <= PAGE_HEIGHT - FOOT
            for left, right, top, bottom, text in boxes_of(sheet):
                assert left >= x1 or right <= x0 or top >= y1 or bottom <= y0, text


@pytest.mark.parametrize("text", [LONG_TEXT, LONG_WORD, "", "one", "a $ b_{x} \\alpha"])
def test_wrapping_loses_no_letter_and_no_width_against_measured(text: str) -> None:
    lines = wrap(text, BODY, 200)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(text_width(line, BODY) <= 200 for line in lines)


@pytest.mark.parametrize("width", [90.0, 200.0, TEXT_WIDTH])
def test_a_wrapped_command_is_the_command_against_shell_rule(width: float) -> None:
    """A shell drops a backslash with the line break behind it."""
    command = f"audit lira --method dm --set a=1 --data-root {LONG_WORD} --init random 'two words'"
    lines = wrap_command(command, CODE, width)
    assert "\n".join(lines).replace("\\\n", "") == command
    assert all(text_width(line, CODE) <= width for line in lines)
    assert len(lines) > 1


def test_letters_that_the_font_lacks_are_marked_against_charmap() -> None:
    assert printable("ε ≥ 1\t漢\n字", BODY) == "ε ≥ 1 \ufffd \ufffd"
    assert shorten("x" * 500, BODY, 100).endswith("…")
    assert text_width(shorten("x" * 500, BODY, 100), BODY) <= 100


def test_settings_are_flattened_against_example() -> None:
    assert list(flatten({"b": None, "a": {"d": 1, "c": [2]}})) == [("a.c", "2"), ("a.d", "1"), ("b", "none")]


@pytest.mark.parametrize(
    ("per_class", "classes", "shape"),
    [(1, 10, (8, 8, 1)), (10, 10, (28, 28, 1)), (1, 2, (32, 32, 3)), (1, 100, (32, 32, 3)), (50, 10, (8, 8, 1))],
)
def test_every_shown_image_stands_in_its_class_row_against_labels(per_class, classes, shape) -> None:  # type: ignore[no-untyped-def]
    gallery = simulate_gallery(per_class=per_class, classes=classes, shape=shape)
    assert gallery.synthetic is not None
    assert gallery.synthetic_labels is not None
    order = np.random.default_rng(2).permutation(per_class * classes)
    gallery = Gallery(synthetic=gallery.synthetic[order], synthetic_labels=gallery.synthetic_labels[order])
    assert gallery.synthetic is not None
    assert gallery.synthetic_labels is not None
    mosaic = arrange(gallery.synthetic_labels)
    used = mosaic.cells[mosaic.cells >= 0]
    assert len(np.unique(used)) == used.size == min(per_class, 16) * classes
    if per_class > 1:
        for label, row in zip(mosaic.labels, mosaic.cells, strict=True):
            assert set(gallery.synthetic_labels[row[row >= 0]]) == {int(label)}
    picture = compose(gallery.synthetic, mosaic.cells)
    assert picture.shape[-1] == shape[-1]
    high, wide = (size // count for size, count in zip(picture.shape[:2], mosaic.cells.shape, strict=True))
    centre = gallery.synthetic[mosaic.cells[0, 0], shape[0] // 2, shape[1] // 2]
    near = picture[high // 2 - high // 8 : high // 2 + high // 8 + 2, wide // 2 - wide // 8 : wide // 2 + wide // 8 + 2]
    assert np.isclose(near, centre, atol=1e-6).all(-1).any()


def images_of(sheets: list[Figure]) -> int:
    return sum(isinstance(child, AxesImage) for sheet in sheets for axes in sheet.axes for child in axes.images)


def test_real_images_appear_only_when_given_against_count() -> None:
    report, scores = simulate_report(runs=24, records=120)
    synthetic = simulate_gallery()
    assert images_of(lay_out(report, scores, synthetic)) == 1
    assert images_of(lay_out(report, scores, Gallery(note="none"))) == 0
    assert synthetic.synthetic is not None
    shown = replace(synthetic, exposed=synthetic.synthetic[: len(report.exposed)])
    sheets = lay_out(report, scores, shown)
    assert images_of(sheets) > 1
    words = " ".join(text.get_text() for sheet in sheets for text in sheet.texts)
    assert "REAL RECORDS OF THE PRIVATE DATA" in words


def test_a_set_started_from_records_is_withheld_unless_asked_for_against_cases() -> None:
    images, labels = np.zeros((4, 1, 8, 8), np.float32), np.array([0, 0, 1, 1])
    assert show_synthetic(images, labels, from_records=True, show_records=False).synthetic is None
    assert show_synthetic(images, labels, from_records=True, show_records=True).synthetic is not None
    assert show_synthetic(images, labels, from_records=False, show_records=False).synthetic is not None
    table = show_synthetic(np.zeros((4, 14), np.float32), labels, from_records=False, show_records=True)
    assert table.synthetic is None
    assert "table" in table.note
    soft = show_synthetic(images, np.eye(2)[labels], from_records=False, show_records=False)
    assert soft.synthetic_labels is not None
    assert soft.synthetic_labels.tolist() == labels.tolist()


def test_pixels_are_mapped_and_cut_against_example() -> None:
    images = np.array([-3.0, -1.0, 0.0, 1.0, 2.0], np.float32).reshape(5, 1, 1, 1)
    assert pixels(images).ravel().tolist() == [0, 0, 0.5, 1, 1]


def test_a_gallery_of_the_wrong_shape_is_refused_against_cases() -> None:
    with pytest.raises(ValueError, match="expected"):
        Gallery(synthetic=np.zeros((4, 1, 8, 8), np.float32), synthetic_labels=np.zeros(4, np.int64))
    with pytest.raises(ValueError, match="one label each"):
        Gallery(synthetic=np.zeros((4, 8, 8, 1), np.float32), synthetic_labels=np.zeros(3, np.int64))
