"""Answers signed URLs of local files as S3 would: the local server's storage endpoint.

Source: Amazon S3 API reference, "GetObject", "HeadObject" and "Error responses".
"""

import email.utils
import os
import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from urllib.parse import unquote_to_bytes
from xml.sax.saxutils import escape

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from headgate.storage.buckets import LocalBuckets
from headgate.storage.credentials import CredentialSource
from headgate.storage.signers import LOCAL_REGION
from headgate.storage.sigv4 import RequestRefused, verify_presigned

_CHUNK_BYTES = 1024 * 1024
_RANGE = re.compile(r"bytes=(?:(\d{1,18})-(\d{0,18})|-(\d{1,18}))", re.ASCII)


class ObjectEndpoint:
    """An ASGI application: `app.mount("/storage", ObjectEndpoint(buckets, credentials))`.

    Serves GET and HEAD of `/{bucket}/{key}` where the URL is signed by `credentials` for that
    method and has not expired, and the file lies in the directory that `buckets` has for the
    bucket. Errors are S3's, as XML.
    """

    def __init__(self, buckets: LocalBuckets, credentials: CredentialSource) -> None:
        self._buckets = buckets
        self._credentials = credentials

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"the object endpoint does not speak {scope['type']}")
        try:
            response = await run_in_threadpool(self._answer, scope)
        except RequestRefused as refused:
            response = _error(scope, refused)
        await response(scope, receive, send)

    def _answer(self, scope: Scope) -> Response:
        method = scope["method"]
        headers = Headers(scope=scope)
        if method not in ("GET", "HEAD"):
            raise RequestRefused(
                405,
                "MethodNotAllowed",
                "The specified method is not allowed against this resource.",
            )
        raw_path: bytes = scope["raw_path"]
        verify_presigned(
            method,
            raw_path,
            scope["query_string"].decode("latin-1"),
            headers.get,
            self._credentials(),
            LOCAL_REGION,
            time.time_ns() // 1_000_000,
        )
        path = os.fsdecode(unquote_to_bytes(raw_path)).removeprefix(scope.get("root_path", ""))
        bucket, _, key = path.removeprefix("/").partition("/")
        file = self._open(bucket, key)
        try:
            return _object_response(method, headers.get("range"), file)
        except BaseException:
            file.close()
            raise

    def _open(self, bucket: str, key: str) -> IO[bytes]:
        """The file, open; RequestRefused where there is none, or it is not the bucket's."""
        missing = RequestRefused(404, "NoSuchKey", "The specified key does not exist.")
        root = self._buckets.root(bucket)
        if root is None:
            raise RequestRefused(404, "NoSuchBucket", "The specified bucket does not exist")
        try:
            # Links are followed before the check, so none leads out of the root.
            target = Path(root, key).resolve(strict=True)
            if not key or not target.is_relative_to(root.resolve()):
                raise missing
            if not target.is_file():
                raise missing
            return target.open("rb")
        except PermissionError as error:
            raise RequestRefused(403, "AccessDenied", "Access Denied") from error
        except (OSError, ValueError) as error:
            raise missing from error


def _object_response(method: str, range_header: str | None, file: IO[bytes]) -> Response:
    """The response to a verified request; it takes over the file."""
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise RequestRefused(404, "NoSuchKey", "The specified key does not exist.")
    size = status.st_size
    headers = {
        "Accept-Ranges": "bytes",
        "ETag": f'"{status.st_mtime_ns:x}-{size:x}"',
        "Last-Modified": email.utils.formatdate(status.st_mtime, usegmt=True),
    }
    first, length, code = 0, size, 200
    asked = _parse_range(range_header, size)
    if asked is not None:
        first, length = asked
        code = 206
        headers["Content-Range"] = f"bytes {first}-{first + length - 1}/{size}"
    headers["Content-Length"] = str(length)
    if method == "HEAD":
        file.close()
        return Response(status_code=code, headers=headers, media_type="application/octet-stream")
    return _FileResponse(file, first, length, code, headers)


class _FileResponse(StreamingResponse):
    """Streams a part of an open file, and closes it however the exchange ends."""

    def __init__(
        self, file: IO[bytes], first: int, length: int, code: int, headers: dict[str, str]
    ) -> None:
        super().__init__(_chunks(file, first, length), code, headers, "application/octet-stream")
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._file.close()


def _parse_range(header: str | None, size: int) -> tuple[int, int] | None:
    """First byte and length; None for the whole object.

    S3 ignores a header that it cannot parse, and one of several ranges. Raises RequestRefused
    where no byte of the range exists.
    """
    match = _RANGE.fullmatch(header.strip()) if header is not None else None
    if match is None:
        return None
    if match.group(3) is not None:
        length = min(int(match.group(3)), size)
        first = size - length
    else:
        first = int(match.group(1))
        last = int(match.group(2)) if match.group(2) else size - 1
        if match.group(2) and last < first:
            return None
        length = min(last, size - 1) - first + 1
    if length <= 0:
        raise RequestRefused(416, "InvalidRange", "The requested range is not satisfiable")
    return first, length


def _chunks(file: IO[bytes], first: int, length: int) -> Iterator[bytes]:
    file.seek(first)
    while length > 0:
        chunk = file.read(min(_CHUNK_BYTES, length))
        if not chunk:
            raise OSError("the file has been cut short while it was read")
        length -= len(chunk)
        yield chunk


def _error(scope: Scope, refused: RequestRefused) -> Response:
    body = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<Error><Code>{escape(refused.code)}</Code>"
        f"<Message>{escape(refused.message)}</Message></Error>"
    )
    return Response(
        body if scope["method"] != "HEAD" else b"",
        status_code=refused.status,
        media_type="application/xml",
    )
