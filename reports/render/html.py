"""Writes a document as one HTML file that needs nothing but itself.

No network: a content security policy forbids it, and only the script and the style of this file, named by their
digests, are obeyed; so no name or path in a record can act, whatever it holds. Equal documents give equal bytes.
"""

import base64
import hashlib
import io
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from PIL import Image

from reports.documents.blocks import Block, Curves, Document
from reports.figures.canvas import Plot, svg_of
from reports.files import write_atomically

WIDE, NARROW = 487.0, 236.0  # points, of figures in wide windows and on phones
_SIGNS = {
    "REFUTED": "✗",
    "CONTRACT BROKEN": "✗",
    "NOISE NOT AS CLAIMED": "✗",
    "NOT REFUTED": "●",
    "NO CLAIM": "○",
    "NOTHING TESTED": "○",
}
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]{1,30}(?![\w-])")
_IDENTIFIER = re.compile(r"\w[\w.:/]{15,}")
_JOINT = re.compile(r"(?<=[._:/])(?=[^\W\d_])")
_UNSAFE = ("Cc", "Cf", "Cs", "Co", "Cn")  # control, direction, surrogate, private and unassigned characters


def write_html(document: Document, path: Path) -> None:
    """Parts are written one at a time."""
    style, script = asset("page.css"), asset("page.js")
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    chunks = (
        _environment()
        .get_template("page.html")
        .generate(
            document=document,
            parts=_numbered(document),
            policy=Markup(policy),
            style=Markup(style),
            script=Markup(script),
        )
    )
    write_atomically(path, lambda stream: stream.writelines(chunk.encode() for chunk in chunks))


def asset(name: str) -> str:
    """One of the files that the page is made of."""
    return (resources.files("reports.render") / "assets" / name).read_text(encoding="utf-8")


def visible(value: Any) -> Any:
    """Text without what could turn or hide other text; white space of any kind is a space."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    spaced = "".join(" " if letter in "\t\n\r" else letter for letter in value)
    return "".join("\ufffd" if unicodedata.category(letter) in _UNSAFE else letter for letter in spaced)


def worded(text: str) -> Markup:
    """Text for a paragraph, in which no line ends within an option such as --claim."""
    return Markup(_OPTION.sub(r'<span class="option">\g<0></span>', str(escape(visible(text)))))


def parted(text: str) -> Markup:
    """Text for a title or a cell, in which long names of modules and settings may be parted at their joints."""
    return Markup(_IDENTIFIER.sub(lambda found: _JOINT.sub("<wbr>", found.group()), str(escape(visible(text)))))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("reports.render", "assets"),
        autoescape=True,
        finalize=visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        kind_of=_kind_of, places=_places, png=_png, svg=_svg, signs=_SIGNS, wide=WIDE, narrow=NARROW
    )
    environment.filters |= {"worded": worded, "parted": parted}
    return environment


def _numbered(document: Document) -> Iterator[tuple[int, Any, Document]]:
    for number, (entry, part) in enumerate(zip(document.entries, document.parts, strict=True), start=1):
        yield number, entry, part


def _kind_of(block: Block) -> str:
    return type(block).__name__


def _places(block: Curves) -> dict[str, Any]:
    """Where the points of the curves are on each kind of axes, and what to tell at each."""
    return {"text": block.points, **{scale.name: {"x": scale.x, "y": scale.y} for scale in block.scales}}


def _svg(plot: Plot, width: float) -> Markup:
    return Markup(f"data:image/svg+xml;base64,{base64.b64encode(svg_of(plot, width)).decode()}")


def _png(pixels: np.ndarray) -> Markup:
    """One picture `[height, width, channels]` in [0, 1]."""
    levels = np.round(255 * np.clip(pixels, 0, 1)).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(levels[..., 0] if levels.shape[-1] == 1 else levels).save(stream, format="PNG", optimize=True)
    return Markup(f"data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
