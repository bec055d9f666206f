"""The bodies of the list APIs, as the OpenAPI page shows them.

Source: Delta Sharing protocol, "List Shares" to "List all Tables in a Share". Field names are the
protocol's own.
"""

from pydantic import BaseModel, Field


class ErrorBody(BaseModel):
    errorCode: str
    message: str


class ShareItem(BaseModel):
    name: str
    id: str | None = None
    displayName: str | None = None
    comment: str | None = None
    properties: dict[str, str] | None = None


class ShareBody(BaseModel):
    share: ShareItem


class ShareList(BaseModel):
    items: list[ShareItem]
    nextPageToken: str | None = None


class SchemaItem(BaseModel):
    name: str
    share: str


class SchemaList(BaseModel):
    items: list[SchemaItem]
    nextPageToken: str | None = None


class TableItem(BaseModel):
    name: str
    schema_: str = Field(alias="schema")
    share: str
    shareId: str | None = None
    id: str | None = None


class TableList(BaseModel):
    items: list[TableItem]
    nextPageToken: str | None = None
