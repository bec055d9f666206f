"""The web application: given services and routers, a Delta Sharing server.

    app = create_app(Services(catalog, TokenSigner(secret)), [shares.router])

Each deployment chooses its routers, so that one which only lists shares loads no Arrow.
"""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, FastAPI

from headgate.api.errors import add_error_handlers
from headgate.api.models import ErrorBody
from headgate.api.services import Services
from headgate.settings import normalise_prefix

_DESCRIPTION = """\
A server of the [Delta Sharing protocol](https://github.com/delta-io/delta-sharing/blob/main/PROTOCOL.md).

Every endpoint needs the bearer token of a profile file: press **Authorize** to try them here.
Names of shares, schemas and tables ignore case. Errors are `{"errorCode", "message"}`.
"""

_ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorBody, "description": "A parameter is not valid."},
    401: {"model": ErrorBody, "description": "The bearer token is missing, wrong or expired."},
    404: {"model": ErrorBody, "description": "There is no such thing, or it is not yours to see."},
    "default": {"model": ErrorBody, "description": "Any other error."},
}


def create_app(
    services: Services, routers: Sequence[APIRouter], prefix: str = "/delta-sharing"
) -> FastAPI:
    """The app with `routers` below `prefix`, and its OpenAPI page at `/docs`.

    Routes reach `services` through `api.dependencies`.
    """
    app = FastAPI(
        title="Headgate",
        description=_DESCRIPTION,
        redirect_slashes=False,
        redoc_url=None,
    )
    app.state.services = services
    add_error_handlers(app)
    for router in routers:
        app.include_router(router, prefix=normalise_prefix(prefix), responses=_ERRORS)
    return app
