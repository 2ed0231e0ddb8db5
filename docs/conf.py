"""Configuration of Sphinx. `make docs` assembles the pages (docs/generate) and builds them.

No page loads anything from another host.
"""

from typing import Any

from audit.specs.spec import Spec
from audit.version import __version__

project = "condensation-audit"
author = "The condensation-audit authors"
copyright = author
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "index"
# Links within pages, and to headings of other pages, are checked: with -W a broken one fails the build.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 100
# Docstrings set names in single backticks.
default_role = "code"
# Options begin with two hyphens, which must not become a dash.
smartquotes = False

html_theme = "furo"
html_title = "condensation-audit"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False


def leave_out_signature(_app: Any, _what: str, _name: str, thing: Any, *_rest: Any) -> tuple[str, None] | None:
    """Omit the signature of a specification, whose fields are in a table below it."""
    return ("", None) if isinstance(thing, type) and issubclass(thing, Spec) else None


def setup(app: Any) -> None:
    app.connect("autodoc-process-signature", leave_out_signature)
