"""An explanation as an SVG picture: zones by their kept share, and the ranges of one column."""

import html
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence

from headgate.catalog.times import instant_text
from headgate.cli.axis import Axis, value_axis
from headgate.cli.units import bytes_text, counted, share_text
from headgate.query.explain import Explanation, RangeColumn
from headgate.query.extents import UNKNOWN, Extent
from headgate.query.pieces import Fate, Piece, merged

_WIDTH = 1000
_MARGIN = 40
_INNER = _WIDTH - 2 * _MARGIN
_MOST_CELLS = 1600
_MOST_BARS = 400
_PLOT_HEIGHT = 280
_PLOT_LEFT = 190  # where the labels of the value axis end
_INK, _FAINT, _LINE = "#1f2933", "#6b7785", "#cbd2d9"
_BAND = "#d9480f"
_PALE, _DARK = (190, 219, 239), (8, 81, 156)  # kept shares from just above 0 to 1
_COLOURS = {
    Fate.KEPT: "#08519c",
    Fate.PARTLY: "#7fb2d8",
    Fate.NONE_KEPT: "#f2c14e",
    Fate.RULED_OUT: "#c9d0d8",
    Fate.NOT_REACHED: "#ffffff",
}


def draw(found: Explanation) -> str:
    """The SVG document, in ASCII-safe UTF-8, 1000 units wide and as high as it needs."""
    body: list[str] = []
    y = _heading(body, found)
    pieces = (*found.zones, *found.tail) if found.files is None else found.files
    noun = "zone" if found.files is None else "file"
    if pieces:
        y = _cells(body, pieces, noun, y + 30)
    if found.column is not None:
        y = _ranges(body, pieces, noun, found, found.column, y + 34)
    height = y + 24
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
            f'width="{_WIDTH}" height="{height}" '
            "font-family=\"Inter, 'DejaVu Sans', Arial, sans-serif\">",
            f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
            f'<defs><linearGradient id="share"><stop stop-color="rgb{_PALE}"/>'
            f'<stop offset="1" stop-color="rgb{_DARK}"/></linearGradient></defs>',
            *body,
            "</svg>\n",
        ]
    )


def _heading(body: list[str], found: Explanation) -> int:
    body.append(_text(_MARGIN, 46, f"What a query keeps of {found.table}", size=22, weight=600))
    limit = "" if found.limit_rows is None else f", limit of {counted(found.limit_rows, 'row')}"
    at = f"version {found.version}, committed {instant_text(found.timestamp_ms)}{limit}"
    body.append(_text(_MARGIN, 70, at, colour=_FAINT))
    y = 92
    words = " and ".join(part.parsed for part in found.conjuncts) or "no predicate"
    lines = textwrap.wrap(f"where {words}" if found.conjuncts else words, 112)
    for line in lines[:4]:
        body.append(_text(_MARGIN, y, line, family="'DejaVu Sans Mono', monospace"))
        y += 18
    for reason in found.unused[:3]:
        body.append(_text(_MARGIN, y, f"not used: {reason}", colour=_BAND))
        y += 18
    y += 26
    zones = sum(1 for piece in found.zones if piece.fate is not Fate.RULED_OUT)
    read = sum(reads.bytes for reads in found.reads)
    requests = sum(reads.requests for reads in found.reads)
    figures = (
        (
            f"{found.files_kept:,} of {counted(found.files_considered, 'file')}",
            f"{share_text(found.files_kept, found.files_considered)} kept",
        ),
        (
            f"{bytes_text(found.bytes_kept)} of {bytes_text(found.bytes_considered)}",
            f"data to read: {share_text(found.bytes_kept, found.bytes_considered)}",
        ),
        (f"{zones:,} of {counted(len(found.zones), 'zone')}", "not ruled out by their bounds"),
        (bytes_text(read), f"read of the index, in {counted(requests, 'request')}"),
    )
    for place, (figure, label) in enumerate(figures):
        x = _MARGIN + place * _INNER / len(figures)
        body.append(_text(x, y, figure, size=15, weight=600))
        body.append(_text(x, y + 19, label, colour=_FAINT))
    return y + 24


def _cells(body: list[str], pieces: Sequence[Piece], noun: str, y: int) -> int:
    """One cell a zone or file, row by row; those of the tail on rows of their own."""
    each = -(-len(pieces) // _MOST_CELLS)
    shown = merged(pieces, _MOST_CELLS)
    pitch = max(12, min(26, _INNER // min(len(shown), 60)))
    columns = _INNER // pitch
    title = f"Each {noun} in the order of the index" + ("" if each == 1 else f", {each} to a cell")
    body.append(_text(_MARGIN, y, title, size=15, weight=600))
    y += 12
    for in_tail in (False, True):
        group = [piece for piece in shown if piece.in_tail is in_tail]
        if not group:
            continue
        if in_tail:
            of = "Files" if noun == "file" else "Batches of files"
            body.append(_text(_MARGIN, y + 18, f"{of} in the tail", colour=_FAINT))
            y += 26
        for place, piece in enumerate(group):
            row, column = divmod(place, columns)
            stroke = _LINE if piece.fate is Fate.NOT_REACHED else "none"
            told = f"{piece.kept:,} of {counted(piece.files, 'file')} kept"
            body.append(
                f'<rect x="{_MARGIN + column * pitch}" y="{y + row * pitch}" '
                f'width="{pitch - 2}" height="{pitch - 2}" rx="2" fill="{_shade(piece)}" '
                f'stroke="{stroke}"><title>{told}</title></rect>'
            )
        y += -(-len(group) // columns) * pitch
    return _legend(body, pieces, y + 20)


def _shade(piece: Piece) -> str:
    if piece.fate is not Fate.PARTLY:
        return _COLOURS[piece.fate]
    share = piece.kept / piece.files
    mixed = (round(a + (b - a) * share) for a, b in zip(_PALE, _DARK, strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def _legend(body: list[str], pieces: Sequence[Piece], y: int) -> int:
    fates = [piece.fate for piece in pieces]
    x = float(_MARGIN)
    for fate in Fate:
        if fate not in fates:
            continue
        label = f"{fate} ({fates.count(fate):,})"
        if fate is Fate.PARTLY:
            label = f"{label}: darker is more"
        stroke = _LINE if fate is Fate.NOT_REACHED else "none"
        fill = "url(#share)" if fate is Fate.PARTLY else _COLOURS[fate]
        width = 36 if fate is Fate.PARTLY else 12
        body.append(
            f'<rect x="{x:.0f}" y="{y - 10}" width="{width}" height="12" rx="2" fill="{fill}" '
            f'stroke="{stroke}"/>'
        )
        body.append(_text(x + width + 6, y, label))
        x += width + 30 + 7.4 * len(label)
    return y


def _ranges(
    body: list[str],
    pieces: Sequence[Piece],
    noun: str,
    found: Explanation,
    column: RangeColumn,
    y: int,
) -> int:
    """A bar from the lowest to the highest value of each zone or file, and the wanted ranges."""
    bars = merged(pieces, _MOST_BARS)
    each = -(-len(pieces) // _MOST_BARS)

    def text(value: object) -> str:
        plain = found.wording.value(value, column.bound)
        return f"{int(plain):,}" if plain.removeprefix("-").isdigit() else plain

    axis = value_axis(column.bound, [bar.extent for bar in bars], column.wanted, text)
    title = f"{column.name}: lowest to highest value of each {noun}"
    title += "" if each == 1 else f", {each} to a bar"
    body.append(_text(_MARGIN, y, title, size=15, weight=600))
    top, left, right = y + 16, _PLOT_LEFT, _WIDTH - _MARGIN
    bottom = top + _PLOT_HEIGHT
    for share, label in axis.ticks:
        at = bottom - share * _PLOT_HEIGHT
        body.append(_line(left, at, right, at, _LINE))
        body.append(_text(left - 10, at + 4, _tick(label), anchor="end", colour=_FAINT))
    step = (right - left) / len(bars)
    body += _band(axis, column.wanted, left, right, bottom)
    for place, bar in enumerate(bars):
        x = left + place * step
        if bar.in_tail and place and not bars[place - 1].in_tail:
            body.append(_line(x, top, x, bottom, _FAINT, dash="4 3"))
            near = x < left + 60
            words, at, anchor = ("tail", x + 5, "start") if near else ("tail →", x - 5, "end")
            body.append(_text(at, top + 12, words, anchor=anchor, colour=_FAINT))
        body.append(_bar(axis, bar, x, step, top, bottom))
    body.append(_line(left, top, left, bottom, _INK))
    body.append(_line(left, bottom, right, bottom, _INK))
    middle = (left + right) / 2
    body.append(_text(middle, bottom + 22, f"{noun}s in the order of the index", anchor="middle"))
    body.append(
        f'<text transform="translate({_MARGIN - 12} {(top + bottom) / 2:.0f}) rotate(-90)" '
        f'text-anchor="middle" font-size="13" fill="{_INK}">{_safe(_short(column.name, 36))}</text>'
    )
    return _range_legend(body, bars, column, _wanted_text(column.wanted, text), bottom + 50)


def _bar(axis: Axis, bar: Piece, x: float, step: float, top: float, bottom: float) -> str:
    width = max(0.8, min(step * 0.8, step - 1, 18.0))
    x += (step - width) / 2
    if bar.extent == UNKNOWN:
        return _line(x + width / 2, top, x + width / 2, bottom, _COLOURS[bar.fate], dash="1 4")
    low = 0.0 if bar.extent.low is None else axis.place(bar.extent.low)
    high = 1.0 if bar.extent.high is None else axis.place(bar.extent.high)
    height = max(2.5, (high - low) * (bottom - top))  # a single value is seen too
    at = bottom - high * (bottom - top) - (1.25 if height == 2.5 else 0)
    stroke = _FAINT if bar.fate is Fate.NOT_REACHED else "none"
    return (
        f'<rect x="{x:.2f}" y="{at:.2f}" width="{width:.2f}" height="{height:.2f}" '
        f'fill="{_shade(bar)}" stroke="{stroke}"/>'
    )


def _band(
    axis: Axis, wanted: Sequence[Extent], left: float, right: float, bottom: float
) -> Iterator[str]:
    for extent in wanted:
        low = 0.0 if extent.low is None else axis.place(extent.low)
        high = 1.0 if extent.high is None else axis.place(extent.high)
        at, end = bottom - high * _PLOT_HEIGHT, bottom - low * _PLOT_HEIGHT
        yield (
            f'<rect x="{left}" y="{at:.2f}" width="{right - left}" '
            f'height="{max(1.0, end - at):.2f}" fill="{_BAND}" fill-opacity="0.13"/>'
        )
        for bound, edge in ((extent.low, end), (extent.high, at)):
            if bound is not None:
                yield _line(left, edge, right, edge, _BAND)


def _range_legend(
    body: list[str], bars: Sequence[Piece], column: RangeColumn, wanted: str, y: int
) -> int:
    """What the band is, and what the bars are that the legend of the cells does not tell."""
    body.append(
        f'<rect x="{_PLOT_LEFT}" y="{y - 11}" width="22" height="13" fill="{_BAND}" '
        f'fill-opacity="0.13" stroke="{_BAND}"/>'
    )
    body.append(
        _text(_PLOT_LEFT + 30, y, _short(f"values of {column.name} that can match: {wanted}", 100))
    )
    if any(bar.extent == UNKNOWN for bar in bars):
        y += 20
        x = _PLOT_LEFT + 11
        body.append(_line(x, y - 12, x, y + 2, _FAINT, dash="1 4"))
        body.append(_text(_PLOT_LEFT + 30, y, "values not known, or none"))
    return y


def _wanted_text(wanted: Sequence[Extent], text: Callable[[object], str]) -> str:
    """The ranges in words: `≥ 5`, `from 5 to 7`, `5, 9`."""
    parts = []
    for extent in wanted[:8]:
        if extent.low is None or extent.high is None:
            parts += [f"{sign} {text(end)}" for sign, end in _ends(extent)]
        elif extent.low == extent.high:
            parts.append(text(extent.low))
        else:
            parts.append(f"{text(extent.low)} to {text(extent.high)}")
    if wanted and not parts:
        return "any value"
    return ", ".join(parts) + (", …" if len(wanted) > 8 else "") if parts else "no value"


def _ends(extent: Extent) -> Iterator[tuple[str, object]]:
    if extent.low is not None:
        yield "≥", extent.low
    if extent.high is not None:
        yield "≤", extent.high


def _text(
    x: float,
    y: float,
    text: str,
    *,
    size: int = 13,
    weight: int = 400,
    colour: str = _INK,
    anchor: str = "start",
    family: str | None = None,
) -> str:
    face = "" if family is None else f' font-family="{family}"'
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" '
        f'fill="{colour}" text-anchor="{anchor}"{face}>{_safe(text)}</text>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, dash: str = "") -> str:
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line x1="{x1:.2f}" y1="{y1:.2f}" x2="{x2:.2f}" y2="{y2:.2f}" stroke="{colour}"{dashes}/>'
    )


def _tick(label: str) -> str:
    """A label beside the axis: without a time of day that is midnight, and not too long."""
    return _short(re.sub(r"(?<=\d) 00:00:00Z?$", "", label), 20)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _safe(text: str) -> str:
    """Text inside an element. XML has no place for control characters, not even escaped."""
    return html.escape("".join(c if c.isprintable() else "�" for c in text))
