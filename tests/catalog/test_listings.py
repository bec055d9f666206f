"""Pages of listings tile, and their tokens serve nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.catalog.catalog import Catalog
from headgate.catalog.listings import MAX_RESULTS, Scope, name_key, page, table_key
from headgate.errors import InvalidParameter
from headgate.model.sharing import Recipient, Schema, Share, Table
from headgate.tokens import TokenSigner

SIGNER = TokenSigner(b"a secret of the tests, 32 bytes.")
SCOPE = Scope("all-tables", "acme", ("Sales",))
EVERYONE = Recipient("acme", None)

names = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters=" ./"), min_size=1, max_size=6
)


def share_of(tree: dict[str, set[str]]) -> Catalog:
    schemas = tuple(
        Schema(name, "Sales", tuple(Table(t, name, "Sales", "s3://b/t") for t in tables))
        for name, tables in tree.items()
    )
    return Catalog((Share("Sales", schemas),))


def unique(values: set[str]) -> set[str]:
    return set({value.lower(): value for value in sorted(values)}.values())


trees = st.dictionaries(names, st.sets(names, max_size=6).map(unique), max_size=5).map(
    lambda tree: {name: tree[name] for name in unique(set(tree))}
)


@given(trees, st.integers(1, 40))
def test_pages_tile(tree: dict[str, set[str]], max_results: int) -> None:
    tables = share_of(tree).list_all_tables(EVERYONE, "sales")
    assert sorted(tables, key=table_key) == list(tables)
    collected: list[Table] = []
    token = None
    for _ in range(len(tables) + 1):
        got = page(tables, table_key, SCOPE, SIGNER, max_results, token)
        assert len(got.items) <= max_results
        collected += got.items
        token = got.next_page_token
        if token is None:
            break
    assert collected == list(tables)
    assert token is None


@given(trees, st.sets(st.integers(0, 30)), st.integers(1, 5))
def test_what_stays_is_listed_once_while_the_rest_goes(
    tree: dict[str, set[str]], gone: set[int], max_results: int
) -> None:
    before = share_of(tree).list_all_tables(EVERYONE, "sales")
    after = [table for place, table in enumerate(before) if place not in gone]
    first = page(before, table_key, SCOPE, SIGNER, max_results)
    listed = list(first.items)
    token = first.next_page_token
    while token is not None:
        got = page(after, table_key, SCOPE, SIGNER, max_results, token)
        listed += got.items
        token = got.next_page_token
    assert len(set(listed)) == len(listed)
    assert set(after) <= set(listed)


def shares(count: int) -> list[Share]:
    return [Share(f"share{number:04}") for number in range(count)]


def test_the_default_and_the_most_is_500() -> None:
    listed = shares(MAX_RESULTS + 1)
    first = page(listed, name_key, SCOPE, SIGNER)
    assert len(first.items) == MAX_RESULTS
    rest = page(listed, name_key, SCOPE, SIGNER, page_token=first.next_page_token)
    assert [share.name for share in rest.items] == ["share0500"]
    assert page(listed[:-1], name_key, SCOPE, SIGNER, 500).next_page_token is None


@pytest.mark.parametrize("max_results", [-1, 501, 3_000_000_000])
def test_the_range_of_max_results(max_results: int) -> None:
    with pytest.raises(InvalidParameter) as caught:
        page(shares(1), name_key, SCOPE, SIGNER, max_results)
    assert caught.value.message == (
        "Acceptable values of 'maxResults' are 0 to 500, inclusive. (Default: 500)"
    )


def test_a_page_of_nothing_goes_nowhere() -> None:
    nothing = page(shares(2), name_key, SCOPE, SIGNER, 0)
    assert nothing.items == ()
    rest = page(shares(2), name_key, SCOPE, SIGNER, None, nothing.next_page_token)
    assert list(rest.items) == shares(2)
    assert page([], name_key, SCOPE, SIGNER, 0).next_page_token is None


@pytest.mark.parametrize(
    "other",
    [
        Scope("tables", "acme", ("Sales",)),
        Scope("all-tables", "other", ("Sales",)),
        Scope("all-tables", "acme", ("Other",)),
        Scope("all-tables", "acme", ("Sales", "x")),
        Scope("all-tables", "acme"),
    ],
)
def test_a_token_serves_one_scope(other: Scope) -> None:
    token = page(shares(2), name_key, SCOPE, SIGNER, 1).next_page_token
    with pytest.raises(InvalidParameter) as caught:
        page(shares(2), name_key, other, SIGNER, 1, token)
    assert caught.value.message == "invalid 'nextPageToken'"


def test_the_scope_ignores_the_case_of_names() -> None:
    token = page(shares(2), name_key, SCOPE, SIGNER, 1).next_page_token
    same = Scope("all-tables", "acme", ("SALES",))
    assert page(shares(2), name_key, same, SIGNER, 1, token).items == (Share("share0001"),)


@pytest.mark.parametrize("token", ["randomPageToken", "a", "é", SIGNER.issue("page", {})])
def test_what_is_no_listing_token(token: str) -> None:
    with pytest.raises(InvalidParameter, match=r"^invalid 'nextPageToken'$"):
        page(shares(2), name_key, SCOPE, SIGNER, 1, token)


def test_an_empty_token_is_none() -> None:
    assert page(shares(1), name_key, SCOPE, SIGNER, 1, "").items == tuple(shares(1))
