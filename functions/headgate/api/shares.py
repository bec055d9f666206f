"""The list APIs and "Get Share".

Source: Delta Sharing protocol, "List Shares", "Get Share", "List Schemas in a Share", "List Tables
in a Schema", "List all Tables in a Share".
"""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from headgate.api import models
from headgate.api.dependencies import CallerDep, PagingDep, ServicesDep
from headgate.api.responses import json_response
from headgate.catalog.listings import Item, Page, Scope, name_key, page, table_key
from headgate.model.sharing import Schema, Share, Table

router = APIRouter(tags=["Shares"])


@router.get("/shares", response_model=models.ShareList, summary="List shares")
async def list_shares(caller: CallerDep, paging: PagingDep, services: ServicesDep) -> Response:
    """The shares that you are granted, by name."""
    scope = Scope("shares", caller.recipient.name)
    shares = caller.catalog.list_shares(caller.recipient)
    return _listing(
        page(shares, name_key, scope, services.tokens, paging.max_results, paging.page_token),
        share_item,
    )


@router.get("/shares/{share}", response_model=models.ShareBody, summary="Get a share")
async def get_share(share: str, caller: CallerDep) -> Response:
    """One share by name, whatever its case."""
    found = caller.catalog.share(caller.recipient, share)
    return json_response({"share": share_item(found)})


@router.get("/shares/{share}/schemas", response_model=models.SchemaList, summary="List schemas")
async def list_schemas(
    share: str, caller: CallerDep, paging: PagingDep, services: ServicesDep
) -> Response:
    """The schemas of a share, by name."""
    schemas = caller.catalog.list_schemas(caller.recipient, share)
    scope = Scope("schemas", caller.recipient.name, (share,))
    return _listing(
        page(schemas, name_key, scope, services.tokens, paging.max_results, paging.page_token),
        schema_item,
    )


@router.get(
    "/shares/{share}/schemas/{schema}/tables",
    response_model=models.TableList,
    summary="List the tables of a schema",
)
async def list_tables(
    share: str, schema: str, caller: CallerDep, paging: PagingDep, services: ServicesDep
) -> Response:
    """The tables of a schema, by name."""
    tables = caller.catalog.list_tables(caller.recipient, share, schema)
    scope = Scope("tables", caller.recipient.name, (share, schema))
    return _listing(
        page(tables, name_key, scope, services.tokens, paging.max_results, paging.page_token),
        table_item,
    )


@router.get(
    "/shares/{share}/all-tables",
    response_model=models.TableList,
    summary="List all tables of a share",
)
async def list_all_tables(
    share: str, caller: CallerDep, paging: PagingDep, services: ServicesDep
) -> Response:
    """The tables of every schema of a share, by schema and name."""
    tables = caller.catalog.list_all_tables(caller.recipient, share)
    scope = Scope("all-tables", caller.recipient.name, (share,))
    return _listing(
        page(tables, table_key, scope, services.tokens, paging.max_results, paging.page_token),
        table_item,
    )


def share_item(share: Share) -> dict[str, Any]:
    """The share as listings show it: only what the catalog gives."""
    return _given(
        name=share.name,
        id=share.id,
        displayName=share.display_name,
        comment=share.comment,
        properties=dict(share.properties) or None,
    )


def schema_item(schema: Schema) -> dict[str, Any]:
    return {"name": schema.name, "share": schema.share}


def table_item(table: Table) -> dict[str, Any]:
    """The table as listings show it; its location is not shown."""
    return _given(
        name=table.name,
        schema=table.schema,
        share=table.share,
        shareId=table.share_id,
        id=table.id,
    )


def _given(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _listing(listed: Page[Item], item: Callable[[Item], dict[str, Any]]) -> Response:
    return json_response(
        {
            "items": [item(entry) for entry in listed.items],
            "nextPageToken": listed.next_page_token,
        }
    )
