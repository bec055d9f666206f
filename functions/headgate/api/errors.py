"""From exceptions to the protocol's error responses: `{"errorCode", "message"}`.

Source: Delta Sharing protocol, the error responses of "REST APIs"; the reference server's codes
and messages.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headgate.api.responses import error_response
from headgate.errors import (
    InvalidParameter,
    MalformedRequest,
    ResourceNotFound,
    SharingError,
    Unauthenticated,
    UnsupportedOperation,
)

logger = logging.getLogger(__name__)

NOT_A_NUMBER = "expected a number but the string didn't have the appropriate format"


def add_error_handlers(app: FastAPI) -> None:
    """Every error of `app` is answered in the protocol's form."""
    app.add_exception_handler(SharingError, _sharing_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_middleware(InternalErrors)


class InternalErrors:
    """Answers what no handler knows with a 500 that says nothing, and logs its trace.

    An error after the response has begun goes on to the server, which breaks the connection off:
    the client must not take half an answer for a whole one.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def noting_send(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, noting_send)
        except Exception:
            if begun or scope["type"] != "http":
                raise
            # The path alone, for query strings and headers carry tokens; quoted, for it may hold
            # line feeds.
            logger.exception("%s %r failed", scope["method"], scope["path"])
            request = Request(scope)
            await error_response(request, 500, "INTERNAL_ERROR", "")(scope, receive, send)


def _sharing_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, SharingError):
        raise error
    headers = {"WWW-Authenticate": "Bearer"} if isinstance(error, Unauthenticated) else None
    return error_response(request, error.status, error.error_code, error.message, headers)


def _validation_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise error
    return _sharing_error(request, _as_sharing_error(error.errors()))


def _as_sharing_error(faults: Sequence[Mapping[str, Any]]) -> SharingError:
    messages = []
    for fault in faults:
        place, *names = fault["loc"]
        name = ".".join(str(part) for part in names) or str(place)
        what = NOT_A_NUMBER if fault["type"] == "int_parsing" else fault["msg"]
        messages.append(f"{name}: {what}")
    kind = MalformedRequest if any(f["loc"][0] == "body" for f in faults) else InvalidParameter
    return kind("; ".join(messages))


def _http_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    if error.status_code == 404:
        code = ResourceNotFound.error_code
        message = f"there is no endpoint at {request.url.path}"
    elif error.status_code == 405:
        code = UnsupportedOperation.error_code
        message = f"{request.method} is not supported at {request.url.path}"
    else:
        code = MalformedRequest.error_code if error.status_code < 500 else "INTERNAL_ERROR"
        message = str(error.detail) if error.status_code < 500 else ""
    return error_response(request, error.status_code, code, message, error.headers)
