"""What routes ask for: the services, and who is calling."""

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Query, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from headgate.api.services import Services
from headgate.catalog.catalog import Catalog
from headgate.errors import Unauthenticated
from headgate.model.sharing import Recipient

_bearer = HTTPBearer(
    auto_error=False,
    description="The `bearerToken` of the profile file that the share provider gave you.",
)


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated recipient, and the catalog that knows them.

    Routes look up in this catalog, not in a newer one: a request sees one state of it.
    """

    recipient: Recipient
    catalog: Catalog


async def services(request: Request) -> Services:
    return cast(Services, request.app.state.services)


def caller(
    services: Annotated[Services, Depends(services)],
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Caller:
    """Raises Unauthenticated."""
    if credentials is None or not credentials.credentials.strip():
        raise Unauthenticated(
            "A bearer token is required: send the header 'Authorization: Bearer <token>'."
        )
    catalog = services.catalog()
    token = credentials.credentials.strip()
    return Caller(catalog.authenticate(token, services.now_ms()), catalog)


@dataclass(frozen=True, slots=True)
class Paging:
    """`maxResults` and `pageToken` of the list APIs; the range is checked when a page is made."""

    max_results: int | None
    page_token: str | None


async def paging(
    max_results: Annotated[
        int | None,
        Query(alias="maxResults", description="Most items on a page, 0 to 500 (default 500)."),
    ] = None,
    page_token: Annotated[
        str | None,
        Query(alias="pageToken", description="The `nextPageToken` of the page before."),
    ] = None,
) -> Paging:
    return Paging(max_results, page_token)


CallerDep = Annotated[Caller, Depends(caller)]
PagingDep = Annotated[Paging, Depends(paging)]
ServicesDep = Annotated[Services, Depends(services)]
