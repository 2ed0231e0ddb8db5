"""Checks a built site: `PYTHONPATH=docs python -m generate.check_links FOLDER` prints what is wrong, and exits with 1.

Every internal link must lead to a file of the site and to an anchor that it has, and no page may load anything from
another host. Links to other hosts, which a reader may follow, are not opened.
"""

import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src"}
LOADING_RELATIONS = {"stylesheet", "icon", "preload", "preconnect", "modulepreload", "manifest"}


@dataclass
class References(HTMLParser):
    """What a page refers to, what it loads, and the anchors that it has."""

    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors.update(given[name] for name in ("id", "name") if name in given)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADING and given.get(LOADING[tag]):
            self.loads.append(given[LOADING[tag]])
        if tag == "link" and LOADING_RELATIONS & set(given.get("rel", "").split()):
            self.loads.append(given.get("href", ""))


def read_references(page: Path) -> References:
    found = References()
    found.feed(page.read_text(encoding="utf-8"))
    return found


def problems_of(site: Path) -> list[str]:
    """One line per broken link and per thing that is loaded from another host."""
    pages = {page.resolve(): read_references(page) for page in sorted(site.rglob("*.html"))}
    problems: list[str] = []
    for page, found in pages.items():
        name = page.relative_to(site.resolve())
        problems += [f"{name}: loads {url} from another host" for url in found.loads if urlsplit(url).netloc]
        for url in [*found.links, *(url for url in found.loads if not urlsplit(url).netloc)]:
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if target.is_dir():
                target = target / "index.html"
            if not target.is_file():
                problems.append(f"{name}: {url} leads to no file")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                problems.append(f"{name}: {url} leads to no anchor")
    return problems


if __name__ == "__main__":
    site = Path(sys.argv[1])
    found = problems_of(site)
    print(*found, sep="\n", end="\n" if found else "")
    pages = len(list(site.rglob("*.html")))
    if not pages:
        sys.exit(f"{site}: no pages")
    print(f"{pages} pages, {len(found)} broken links")
    sys.exit(bool(found))
