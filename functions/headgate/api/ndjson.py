"""Answers of the table endpoints as streamed NDJSON, compressed where the client accepts it."""

from collections.abc import Iterator

from isal import isal_zlib
from starlette.requests import Request
from starlette.responses import StreamingResponse

from headgate.query.answer import Answer

CONTENT_TYPE = "application/x-ndjson; charset=utf-8"
# The level that halves the size of level 0 at the same speed; higher ones gain next to nothing.
_GZIP_LEVEL = 1
_GZIP_WINDOW = 31  # of 2^15 bytes, with a gzip header
# What is sent in one piece at least: small pieces cost more than they bring forward.
_CHUNK_BYTES = 64 * 1024


def ndjson_response(request: Request, answer: Answer, echo: dict[str, str]) -> StreamingResponse:
    """The answer with its headers; `echo` are request headers to repeat."""
    headers = {
        "Delta-Table-Version": str(answer.version),
        "delta-sharing-capabilities": f"responseformat={answer.format}",
        "Vary": "Accept-Encoding",
        **answer.headers,
        **echo,
    }
    lines = answer.lines
    if accepts_gzip(request.headers.get("accept-encoding", "")):
        headers["Content-Encoding"] = "gzip"
        lines = _gzip(lines)
    return StreamingResponse(lines, headers=headers, media_type=CONTENT_TYPE)


def accepts_gzip(accept_encoding: str) -> bool:
    """Whether an Accept-Encoding header allows gzip (RFC 9110, 12.5.3)."""
    for entry in accept_encoding.lower().split(","):
        coding, _, parameters = entry.partition(";")
        if coding.strip() in ("gzip", "*"):
            name, _, weight = parameters.partition("=")
            try:
                return name.strip() != "q" or float(weight) > 0
            except ValueError:
                return False
    return False


def _gzip(lines: Iterator[bytes | memoryview]) -> Iterator[bytes]:
    compressor = isal_zlib.compressobj(_GZIP_LEVEL, isal_zlib.DEFLATED, _GZIP_WINDOW)
    pending: list[bytes] = []
    size = 0
    for line in lines:
        pending.append(compressor.compress(line))
        size += len(pending[-1])
        if size >= _CHUNK_BYTES:
            yield b"".join(pending)
            pending, size = [], 0
    yield b"".join(pending) + compressor.flush()
