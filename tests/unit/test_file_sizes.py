"""Files stay small enough to be read in one sitting."""

from conftest import ROOT

MOST_LINES = 350
FOLDERS = ("attacks", "audit", "condensation_audit", "condensers", "reports", "tests")


def test_no_source_file_is_longer_than_350_lines() -> None:
    sources = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in sources}
    assert len(lengths) > 300
    assert {path: length for path, length in lengths.items() if length > MOST_LINES} == {}
