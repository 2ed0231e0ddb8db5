"""What a file really is, for the message about one that is not what its name says."""

from pathlib import Path

SIGNATURES = (
    (b"\x1f\x8b", "a gzip archive"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"\x93NUMPY", "a single .npy array"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x80", "a pickle, which is never loaded"),
    (b"version https://git-lfs", "a Git LFS pointer, not the file itself"),
)


def describe_bytes(content: bytes) -> str:
    """In a few words, by the first bytes."""
    if not content:
        return "an empty file"
    for signature, words in SIGNATURES:
        if content.startswith(signature):
            return words
    start = content[:512].lstrip().lower()
    if start.startswith((b"<!doctype", b"<html", b"<?xml", b"<head")):
        return "a web page"
    try:
        content[:512].decode("ascii")
    except UnicodeDecodeError:
        return "something else"
    return "something else" if b"\0" in content[:512] else "text"


def describe_file(path: Path) -> str:
    with path.open("rb") as file:
        return describe_bytes(file.read(512))
