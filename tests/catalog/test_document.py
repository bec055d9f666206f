"""The published catalog is the catalog."""

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.catalog.catalog import Catalog, ServerOptions
from headgate.catalog.document import from_document, to_document
from headgate.errors import CatalogError
from headgate.model.sharing import Recipient, Schema, Share, Table, Token

names = st.text(string.ascii_letters, min_size=1, max_size=5)
texts = st.none() | st.text(max_size=5)
times = st.none() | st.integers(0, 10**13)


@st.composite
def shares(draw: st.DrawFn) -> Share:
    name, share_id = draw(names), draw(texts)
    schemas = []
    for schema in draw(st.lists(names, max_size=2)):
        tables = st.builds(
            Table,
            name=names,
            schema=st.just(schema),
            share=st.just(name),
            location=st.just("s3://b/x"),
            id=texts,
            share_id=st.just(share_id),
            history_shared=st.booleans(),
            start_version=st.integers(0, 9),
            comment=texts,
        )
        schemas.append(Schema(schema, name, tuple(draw(st.lists(tables, max_size=2))), draw(texts)))
    properties = draw(st.dictionaries(st.text(), st.text(), max_size=2))
    return Share(name, tuple(schemas), share_id, draw(texts), draw(texts), properties)


recipients = st.builds(
    Recipient,
    name=names,
    shares=st.none() | st.frozensets(names, max_size=3),
    tokens=st.lists(st.builds(Token, st.just("a" * 64), times, times), max_size=2).map(tuple),
    comment=texts,
)
options = st.builds(
    ServerOptions, texts, st.none() | st.integers(0, 9), texts, st.none() | st.integers(1, 9)
)
catalogs = st.builds(
    Catalog,
    st.lists(shares(), max_size=3).map(tuple),
    st.lists(recipients, max_size=3).map(tuple),
    options,
)


@given(catalogs)
def test_a_catalog_is_read_back(catalog: Catalog) -> None:
    text = json.dumps(to_document(catalog))
    assert from_document(json.loads(text)) == catalog


def test_what_is_empty_is_left_out() -> None:
    assert to_document(Catalog((Share("s"),), (Recipient("r", frozenset()),))) == {
        "format": 1,
        "shares": [{"name": "s"}],
        "recipients": [{"name": "r", "shares": []}],
    }


@pytest.mark.parametrize("document", [{}, {"format": 2}, {"format": "1"}])
def test_another_format_is_refused(document: dict) -> None:
    with pytest.raises(CatalogError, match="reads format 1"):
        from_document(document)


@pytest.mark.parametrize(
    "document",
    [
        {"format": 1, "shares": [{}]},
        {"format": 1, "shares": 5},
        {"format": 1, "recipients": [{"name": "r"}]},
        {"format": 1, "server": {"unknown": 1}},
    ],
)
def test_a_damaged_document_is_refused(document: dict) -> None:
    with pytest.raises(CatalogError, match="publish it again"):
        from_document(document)
