"""The style sheet of the page: colours of Okabe and Ito, every contrast also in dashes, hatching or markers."""

from reports.figures.style import (
    ALLOWED,
    BLUE,
    GREY,
    INK,
    ORANGE,
    PALE,
    RULE,
    SERIES,
    VERDICT_COLOURS,
    VERMILLION,
    Series,
)


def _dashes(series: Series) -> str:
    return " ".join(f"{1.4 * length:g}" for length in series.dashes) or "none"


_SERIES = "\n".join(
    f".line.series-{place} {{ stroke: {series.colour}; stroke-dasharray: {_dashes(series)}; }}"
    f"\n.mark.series-{place} {{ fill: {series.colour}; }}"
    for place, series in enumerate(SERIES)
)
_VERDICTS = "\n".join(
    f'.verdict[data-verdict="{verdict}"] {{ border-color: {colour}; }}\n'
    f'.verdict[data-verdict="{verdict}"] strong, td[data-verdict="{verdict}"] span {{ background: {colour}; }}'
    for verdict, colour in VERDICT_COLOURS.items()
)

STYLE = f"""
* {{ box-sizing: border-box; }}
html {{ color: {INK}; background: #fff; font: 16px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }}
body {{ max-width: 60rem; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; overflow-wrap: anywhere; }}
h1 {{ font-size: 1.9rem; line-height: 1.2; margin: 0.1rem 0 0.3rem; }}
h2 {{ font-size: 1.45rem; line-height: 1.25; margin: 2.6rem 0 0.2rem; }}
h3 {{ font-size: 1.08rem; margin: 2rem 0 0.6rem; padding-bottom: 0.2rem; border-bottom: 1.5px solid {INK}; }}
p {{ margin: 0.5rem 0; }}
.over {{ color: {GREY}; font-size: 0.78rem; letter-spacing: 0.06em; text-transform: uppercase; margin: 0; }}
.sub {{ color: {GREY}; margin-top: 0; }}
.note, figcaption {{ color: {GREY}; font-size: 0.86rem; line-height: 1.45; }}
.alarm {{ color: {VERMILLION}; font-weight: 700; }}
.verdict {{ display: flex; border: 2px solid; border-radius: 4px; margin: 1rem 0; align-items: stretch; }}
.verdict strong {{ flex: none; color: #fff; padding: 0.9rem 1.2rem; font-size: 1.25rem; letter-spacing: 0.02em;
  display: flex; align-items: center; }}
.verdict p {{ margin: 0; padding: 0.8rem 1.1rem; align-self: center; }}
{_VERDICTS}
td[data-verdict] span {{ color: #fff; padding: 0.05rem 0.45rem; border-radius: 3px; font-weight: 700;
  font-size: 0.74rem; white-space: nowrap; }}
.headline {{ display: flex; gap: 1.4rem; align-items: center; }}
.headline b {{ flex: none; font-size: 2.6rem; line-height: 1.1; }}
.columns {{ display: grid; grid-template-columns: minmax(0, 1.25fr) minmax(0, 1fr); gap: 0 2.2rem; }}
dl {{ display: grid; grid-template-columns: 11.5rem minmax(0, 1fr); gap: 0.25rem 1rem; margin: 0.4rem 0; }}
.columns dl {{ grid-template-columns: 6.6rem minmax(0, 1fr); }}
dt {{ font-weight: 600; }}
.columns dt {{ font-weight: 400; color: {GREY}; }}
dd {{ margin: 0; }}
.scroll {{ overflow-x: auto; }}
table {{ overflow-wrap: break-word; border-collapse: collapse; width: 100%; font-size: 0.88rem; margin: 0.4rem 0; }}
th {{ text-align: left; vertical-align: bottom; border-bottom: 1.5px solid {INK}; padding: 0.25rem 0.55rem; }}
td {{ border-bottom: 1px solid {RULE}; padding: 0.25rem 0.55rem; vertical-align: top; }}
table.settings {{ overflow-wrap: anywhere; }}
table.narrow {{ max-width: 36rem; }}
.right {{ text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }}
th.right {{ white-space: normal; }}
.level td:not(:last-child) {{ white-space: nowrap; }}
.level td {{ color: {GREY}; }}
.level tr.here td {{ color: {INK}; background: {PALE}; font-weight: 600; }}
.numbers td {{ padding: 0.18rem 0; }}
.numbers td:last-child {{ color: {GREY}; font-size: 0.8rem; padding-left: 0.7rem; }}
pre {{ background: {PALE}; padding: 0.8rem 1rem; white-space: pre-wrap; font: 0.84rem/1.5 ui-monospace,
  "DejaVu Sans Mono", monospace; }}
code {{ font: 0.84rem ui-monospace, "DejaVu Sans Mono", monospace; }}
details {{ margin: 0.6rem 0; }}
summary {{ cursor: pointer; }}
figure {{ margin: 0.6rem 0; position: relative; }}
figure.plot {{ max-width: 43rem; }}
svg {{ display: block; width: 100%; height: auto; font-family: inherit; }}
svg.defs {{ position: absolute; width: 0; height: 0; }}
img {{ image-rendering: pixelated; max-width: 100%; }}
.thumbs {{ display: flex; flex-wrap: wrap; gap: 0.7rem; }}
.thumbs figure {{ margin: 0; width: 5.2rem; text-align: center; }}
.thumbs img {{ width: 100%; border: 1px solid {GREY}; display: block; }}
.panel {{ display: flex; gap: 0.5rem; }}
.panel > div {{ flex: none; width: 5rem; }}
.panel .by {{ font-size: 0.78rem; font-weight: 600; margin: 0.5rem 0 0; }}
.cell {{ margin: 0.15rem 0; text-align: center; }}
.cell figcaption {{ font-size: 0.74rem; white-space: nowrap; }}
.cell img, .cell span {{ display: block; width: 100%; border: 1px solid {INK}; }}
.cell span {{ background: {PALE}; color: {GREY}; font-size: 0.74rem; padding: 0.7rem 0; }}
.cell.in img, .cell.in span {{ border: 3px solid {VERMILLION}; }}
.cell.out img, .cell.out span {{ border: 2px dashed {BLUE}; }}
a:focus-visible, svg:focus-visible, select:focus-visible, input:focus-visible, summary:focus-visible {{
  outline: 3px solid {ORANGE}; outline-offset: 2px; }}
nav label {{ min-width: 0; max-width: 100%; }}
nav {{ position: sticky; top: 0; z-index: 3; background: #fff; border-bottom: 1.5px solid {INK}; padding: 0.6rem 0;
  display: flex; flex-wrap: wrap; gap: 0.4rem 1.6rem; align-items: center; margin: 2rem 0 0; }}
select {{ font: inherit; font-size: 0.92rem; max-width: min(34rem, 100%); padding: 0.2rem; }}
fieldset {{ border: 0; margin: 0; padding: 0; font-size: 0.92rem; display: flex; gap: 0.9rem; align-items: center; }}
fieldset legend {{ float: left; padding: 0; margin-right: 0.3rem; color: {GREY}; }}
fieldset label {{ display: inline-flex; gap: 0.3rem; align-items: center; }}
.scripted {{ display: none; }}
.ready .scripted {{ display: flex; }}
.ready figcaption.scripted, .ready nav.scripted {{ display: block; }}
.ready nav.scripted {{ display: flex; }}
[hidden] {{ display: none !important; }}
.tip {{ position: absolute; z-index: 2; visibility: hidden; pointer-events: none; background: #fff;
  border: 1px solid {INK}; border-radius: 3px; padding: 0.35rem 0.6rem; font-size: 0.84rem; line-height: 1.4;
  white-space: nowrap;
  box-shadow: 0 1px 4px rgba(0, 0, 0, 0.25); font-variant-numeric: tabular-nums; }}
.tip div:first-child {{ font-weight: 700; }}
.grid {{ stroke: #ddd; stroke-width: 1; }}
.axis {{ stroke: {INK}; stroke-width: 1.2; }}
.tick {{ font-size: 13px; fill: {INK}; }}
.name {{ font-size: 14px; fill: {INK}; }}
.figure {{ font-size: 14px; font-weight: 700; fill: {INK}; }}
.legend {{ fill: #fff; fill-opacity: 0.92; stroke: {RULE}; }}
.line {{ fill: none; stroke-width: 2.2; stroke-linejoin: round; }}
.roc-line {{ stroke: {BLUE}; }}
.band {{ fill: {BLUE}; fill-opacity: 0.25; }}
.chance {{ fill: none; stroke: {GREY}; stroke-width: 1.4; stroke-dasharray: 5 4; }}
.allowed {{ fill: {ALLOWED}; }}
.swatch {{ stroke: {GREY}; stroke-width: 0.8; }}
.edge {{ fill: none; stroke: {VERMILLION}; stroke-width: 1.9; stroke-dasharray: 9 3 2 3; }}
.outside {{ fill: {INK}; stroke: #fff; stroke-width: 0.8; }}
.whisker {{ stroke: {INK}; stroke-width: 1.3; }}
.rate {{ fill: {INK}; }}
.refutes {{ fill: {VERMILLION}; stroke: {INK}; stroke-width: 1.2; }}
.corner {{ fill: #fff; stroke: {INK}; stroke-width: 1.6; }}
.number {{ font-weight: 700; paint-order: stroke; stroke: #fff; stroke-width: 3px; }}
.cursor line {{ stroke: {INK}; stroke-width: 1; stroke-dasharray: 2 2; }}
.cursor circle {{ fill: #fff; stroke: {INK}; stroke-width: 2; }}
.mark {{ stroke: #fff; stroke-width: 0.7; }}
.ceiling {{ fill: {PALE}; stroke: {GREY}; }}
.certified {{ fill: {BLUE}; stroke: {INK}; }}
.ratio {{ stroke: {INK}; }}
.claim {{ stroke: {VERMILLION}; stroke-width: 2.6; }}
.claim-mark {{ fill: {VERMILLION}; }}
.claim-text {{ fill: {VERMILLION}; }}
.members {{ fill: {ORANGE}; fill-opacity: 0.45; }}
.members-hatch {{ stroke: {INK}; stroke-width: 1; }}
.nonmembers {{ stroke: {BLUE}; }}
.expected {{ stroke: {BLUE}; stroke-dasharray: 6 4; }}
.hatch-forbidden {{ stroke: {VERMILLION}; stroke-width: 1.1; stroke-opacity: 0.7; }}
.hatch-few {{ stroke: #b8b8b8; stroke-width: 1; }}
.hatch-members {{ stroke: {INK}; stroke-width: 0.7; }}
{_SERIES}
@media (max-width: 44rem) {{
  .columns, dl, .columns dl {{ grid-template-columns: minmax(0, 1fr); }}
  .headline, .verdict {{ display: block; }}
}}
@page {{ size: A4; margin: 14mm; }}
@media print {{
  html {{ font-size: 11px; }}
  body {{ padding: 0; max-width: none; }}
  nav, .scripted, .ready .scripted, .tip, .cursor {{ display: none !important; }}
  figure, table, pre, .verdict, .headline {{ break-inside: avoid; }}
  h2, h3 {{ break-after: avoid; }}
  section.run + section.run {{ break-before: page; }}
  figure.plot {{ max-width: 13cm; }}
  * {{ -webkit-print-color-adjust: exact; print-color-adjust: exact; }}
}}
"""
