"""Responses as the protocol writes them.

JSON is ASCII with escapes: clients that split lines on Unicode separators cannot break it.
"""

import json
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

CONTENT_TYPE = "application/json; charset=utf-8"


def json_response(
    content: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A JSON response; keys whose value is None are left out."""
    given = {key: value for key, value in content.items() if value is not None}
    body = json.dumps(given, separators=(",", ":")).encode("ascii")
    return Response(body, status, headers, media_type=CONTENT_TYPE)


def error_response(
    request: Request,
    status: int,
    error_code: str,
    message: str,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The protocol's error body; no body where the request is a HEAD."""
    if request.method == "HEAD":
        return Response(status_code=status, headers=headers)
    return json_response({"errorCode": error_code, "message": message}, status, headers)
