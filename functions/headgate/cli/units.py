"""Sizes, counts and spans of time as people read them."""

_BYTES = ("B", "KB", "MB", "GB", "TB", "PB")
_SPANS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def bytes_text(size_bytes: float) -> str:
    """For example `512 B`, `1.4 MB`: powers of 1000, three digits at most."""
    size = float(size_bytes)
    for unit in _BYTES:
        # What rounds to 1000 belongs to the next unit.
        if size < 999.5 or unit == _BYTES[-1]:
            break
        size /= 1000
    digits = 0 if unit == "B" or size >= 99.5 else 1
    return f"{size:,.{digits}f} {unit}"


def span_text(span_ms: int) -> str:
    """A span of time in the largest unit of which there are two, for example `36 h`, `90 s`."""
    left = max(0, span_ms) // 1000
    unit, seconds = next(((u, s) for u, s in _SPANS if left >= 2 * s), _SPANS[-1])
    return f"{left // seconds} {unit}"


def share_text(part: int, whole: int) -> str:
    """A percentage: `0%` and `100%` only for none and all."""
    if not whole:
        return "0%"
    share = 100 * part / whole
    if 0 < share < 0.1:
        return "<0.1%"
    if 99.9 < share < 100:
        return ">99.9%"
    return f"{share:.1f}%".replace(".0%", "%")


def counted(count: int, noun: str) -> str:
    """For example `1 file`, `2,048 files`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
