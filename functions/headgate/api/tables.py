"""The table APIs: version, metadata, query.

Source: Delta Sharing protocol, "Query Table Version", "Query Table Metadata", "Read Data from a
Table".
"""

from dataclasses import dataclass
from typing import Annotated, Any, cast

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from headgate.api.bodies import parse_query_body
from headgate.api.dependencies import CallerDep, services
from headgate.api.ndjson import CONTENT_TYPE, ndjson_response
from headgate.api.services import Services
from headgate.errors import InvalidParameter, UnsupportedOperation
from headgate.model.sharing import Capabilities, Table
from headgate.query import answer
from headgate.query.answer import QueryServices, SnapshotQuery
from headgate.query.formats import ResponseFormat
from headgate.query.versions import open_head, version_since

router = APIRouter(tags=["Tables"])

_TABLE = "/shares/{share}/schemas/{schema}/tables/{table}"
_LINES: dict[int | str, dict[str, Any]] = {
    200: {"content": {CONTENT_TYPE: {}}, "description": "Lines of JSON, one action each."}
}
_QUERY_EXAMPLE = {
    "predicateHints": ["date >= '2021-01-01'", "date <= '2021-01-31'"],
    "limitHint": 1000,
}


@dataclass(frozen=True)
class TableServices(Services):
    """Services, and what answering queries needs besides."""

    query: QueryServices | None = None


def _query_services(services: Annotated[Services, Depends(services)]) -> QueryServices:
    return cast(QueryServices, cast(TableServices, services).query)


def _table(share: str, schema: str, table: str, caller: CallerDep) -> Table:
    return caller.catalog.table(caller.recipient, share, schema, table)


QueryServicesDep = Annotated[QueryServices, Depends(_query_services)]
TableDep = Annotated[Table, Depends(_table)]
StartingTimestamp = Annotated[
    str | None,
    Query(
        alias="startingTimestamp",
        description="ISO 8601 with an offset: asks for the first version at or after it.",
    ),
]


@router.get(f"{_TABLE}/version", summary="Query the table version")
def get_version(
    table: TableDep, services: QueryServicesDep, starting_timestamp: StartingTimestamp = None
) -> Response:
    """The latest version, or the first since a timestamp, in the header `Delta-Table-Version`."""
    if starting_timestamp is None:
        version = open_head(services.reader, table).version
    else:
        version = version_since(services.reader, table, starting_timestamp)
    return Response(headers={"Delta-Table-Version": str(version)})


@router.head(_TABLE, summary="Query the table version (deprecated)", deprecated=True)
def head_version(
    table: TableDep, services: QueryServicesDep, starting_timestamp: StartingTimestamp = None
) -> Response:
    """As GET …/version, for old clients."""
    return get_version(table, services, starting_timestamp)


@router.get(f"{_TABLE}/metadata", summary="Query the table metadata", responses=_LINES)
def get_metadata(
    request: Request,
    table: TableDep,
    services: QueryServicesDep,
    version: Annotated[int | None, Query(description="A version; needs shared history.")] = None,
    timestamp: Annotated[
        str | None, Query(description="ISO 8601 with an offset; needs shared history.")
    ] = None,
) -> Response:
    """Protocol and metadata of the table, in the format that the capabilities header asks for."""
    query = SnapshotQuery(version=version, timestamp=timestamp)
    return ndjson_response(
        request, answer.metadata(services, table, _capabilities(request), query), {}
    )


async def _body(request: Request) -> bytes:
    return await request.body()


@router.post(
    f"{_TABLE}/query",
    summary="Read data from a table",
    responses=_LINES,
    openapi_extra={"requestBody": {"content": {"application/json": {"example": _QUERY_EXAMPLE}}}},
)
def query_table(
    request: Request,
    table: TableDep,
    services: QueryServicesDep,
    body: Annotated[bytes, Depends(_body)],
) -> Response:
    """The files to read, with URLs that expire; hints leave out files that cannot match."""
    asked = parse_query_body(body)
    if asked.starting_version is not None or asked.ending_version is not None:
        raise UnsupportedOperation("Reading changes from startingVersion on is not supported.")
    file_id_hash, echo = _file_id_hash(request)
    query = SnapshotQuery(
        version=asked.version,
        timestamp=asked.timestamp,
        predicate_hints=asked.predicate_hints,
        json_predicate_hints=asked.json_predicate_hints,
        limit_hint=asked.limit_hint,
        file_id_hash=file_id_hash,
    )
    return ndjson_response(
        request, answer.files(services, table, _capabilities(request), query), echo
    )


def _capabilities(request: Request) -> Capabilities:
    return Capabilities.parse(request.headers.get("delta-sharing-capabilities"))


def _file_id_hash(request: Request) -> tuple[ResponseFormat | None, dict[str, str]]:
    """The kind of file id that the request asks for, and the header that confirms it."""
    asked = request.headers.get("fileidhash")
    if asked is None:
        return None, {}
    try:
        return ResponseFormat(asked.lower()), {"fileidhash": asked.lower()}
    except ValueError:
        raise InvalidParameter(
            f"Unsupported fileidhash: '{asked[:64]}'. Supported values are parquet and delta."
        ) from None
