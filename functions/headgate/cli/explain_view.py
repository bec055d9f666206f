"""An explanation in the terminal: tables, and a bar of zones or files."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headgate.catalog.times import instant_text
from headgate.cli.units import bytes_text, counted, share_text
from headgate.query.explain import Explanation
from headgate.query.pieces import Fate, Piece, merged

# A block and its colour. Of what is kept in part, denser is more.
_BLOCKS = {
    Fate.KEPT: ("█", "green"),
    Fate.PARTLY: ("▓", "green"),
    Fate.NONE_KEPT: ("░", "yellow"),
    Fate.RULED_OUT: ("·", "bright_black"),
    Fate.NOT_REACHED: ("-", "bright_black"),
}
_LESS_THAN_HALF = "▒"
_BAR_LINES = 8


def show(console: Console, found: Explanation) -> None:
    """Prints an explanation, as wide as the console."""
    _title(console, found)
    _predicate(console, found)
    _totals(console, found)
    _bar(console, found)
    _reads(console, found)
    _first_files(console, found)


def _title(console: Console, found: Explanation) -> None:
    limit = "" if found.limit_rows is None else f", limit of {counted(found.limit_rows, 'row')}"
    when = instant_text(found.timestamp_ms)
    console.print(Text(found.table, style="bold") + f" version {found.version} ({when}){limit}")


def _predicate(console: Console, found: Explanation) -> None:
    if not found.hints:
        console.print("No predicate: every live file counts.")
        return
    shown = _table(
        "part of the predicate", "compared with files' bounds", "rules out alone", right=(2,)
    )
    for part in found.conjuncts:
        share = share_text(part.ruled_out, found.files_considered)
        compared = Text(part.compared, style="yellow" if part.unused else "")
        shown.add_row(Text(part.parsed), compared, f"{counted(part.ruled_out, 'file')}, {share}")
    console.print(shown)
    for reason in found.unused:
        console.print(Text("not used: ", style="yellow") + reason)


def _totals(console: Console, found: Explanation) -> None:
    shown = _table("", "considered", "kept", "left out", "kept", right=(1, 2, 3, 4))
    zones = [piece for piece in found.zones if piece.kept]
    for name, whole, part, text in (
        ("zones", len(found.zones), len(zones), _number),
        ("files", found.files_considered, found.files_kept, _number),
        ("data", found.bytes_considered, found.bytes_kept, bytes_text),
    ):
        shown.add_row(name, text(whole), text(part), text(whole - part), share_text(part, whole))
    console.print(shown)
    rows = "not told by every file" if found.rows_kept is None else f"{found.rows_kept:,}"
    console.print(f"Rows in kept files: {rows}")


def _number(count: float) -> str:
    return f"{count:,.0f}"


def _bar(console: Console, found: Explanation) -> None:
    by_file = found.files is not None
    pieces = (*found.zones, *found.tail) if found.files is None else found.files
    if not pieces:
        return
    noun = "file" if by_file else "zone"
    cells = merged(pieces, console.width * _BAR_LINES)
    bar = Text(no_wrap=False, overflow="fold")
    for place, cell in enumerate(cells):
        if cell.in_tail and place and not cells[place - 1].in_tail:
            bar.append("│")  # the tail begins
        bar.append(*_block(cell))
    each = -(-len(pieces) // len(cells))
    scale = "" if each == 1 else f", {each} to a block"
    tail = "; the tail follows │" if any(c.in_tail for c in cells) and not cells[0].in_tail else ""
    console.print(f"\nEach {noun} in the order of the index{scale}{tail}:")
    console.print(bar)
    fates = [piece.fate for piece in pieces]
    legend = Text()
    for fate in Fate:
        if fate in fates:
            block, colour = _BLOCKS[fate]
            block += _LESS_THAN_HALF if fate is Fate.PARTLY else ""
            legend.append(block, style=colour).append(f" {fates.count(fate):,} {fate}   ")
    console.print(legend)


def _block(piece: Piece) -> tuple[str, str]:
    block, colour = _BLOCKS[piece.fate]
    if piece.fate is Fate.PARTLY and piece.kept * 2 < piece.files:
        block = _LESS_THAN_HALF
    return block, colour


def _reads(console: Console, found: Explanation) -> None:
    shown = _table("read of the index", "requests", "bytes", right=(1, 2))
    for reads in found.reads:
        shown.add_row(reads.kind, f"{reads.requests:,}", bytes_text(reads.bytes))
    requests = sum(reads.requests for reads in found.reads)
    total = sum(reads.bytes for reads in found.reads)
    shown.add_row("together", f"{requests:,}", bytes_text(total), style="bold")
    console.print(shown)


def _first_files(console: Console, found: Explanation) -> None:
    if not found.first_files:
        return
    shown = _table("first kept files", "size", "rows", right=(1, 2))
    for file in found.first_files:
        rows = "" if file.rows is None else f"{file.rows:,}"
        shown.add_row(Text(file.path, overflow="fold"), bytes_text(file.size_bytes), rows)
    more = found.files_kept - len(found.first_files)
    if more:
        shown.add_row(f"and {more:,} more", "", "")
    console.print(shown)


def _table(*headings: str, right: tuple[int, ...] = ()) -> Table:
    shown = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for place, heading in enumerate(headings):
        justify = "right" if place in right else "left"
        shown.add_column(heading, justify=justify)  # type: ignore[arg-type]  # of two literals
    return shown
