"""Look-up, authentication and the indexer's view of a catalog."""

import hashlib

import pytest

from headgate.catalog.catalog import Catalog, SharedLocation
from headgate.errors import ResourceNotFound, Unauthenticated
from headgate.model.sharing import Recipient, Schema, Share, Table, Token


def table(share: str, schema: str, name: str, location: str = "s3://b/t", **more: object) -> Table:
    return Table(name, schema, share, location, **more)


def hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


SALES = Share(
    "Sales",
    (
        Schema("zulu", "Sales", (table("Sales", "zulu", "only"),)),
        Schema(
            "Alpha",
            "Sales",
            (
                table("Sales", "Alpha", "b"),
                table("Sales", "Alpha", "C"),
                table("Sales", "Alpha", "a"),
            ),
        ),
        Schema("empty", "Sales"),
    ),
)
HIDDEN = Share("hidden", (Schema("s", "hidden", (table("hidden", "s", "t"),)),))
ACME = Recipient(
    "acme",
    frozenset({"sales"}),
    (Token(hashed("old"), None, 1000), Token(hashed("new"), 500, 2000), Token(hashed("ever"))),
)
ALL = Recipient("all", None, (Token(hashed("all")),))
CATALOG = Catalog((SALES, HIDDEN), (ACME, ALL))


def test_names_ignore_case() -> None:
    assert CATALOG.share(ACME, "SALES") is SALES
    assert CATALOG.schema(ACME, "sALES", "ALPHA").name == "Alpha"
    assert CATALOG.table(ACME, "SALES", "alpha", "c").name == "C"


def test_listings_are_in_the_order_of_names() -> None:
    assert [share.name for share in CATALOG.list_shares(ALL)] == ["hidden", "Sales"]
    assert [share.name for share in CATALOG.list_shares(ACME)] == ["Sales"]
    assert [schema.name for schema in CATALOG.list_schemas(ACME, "sales")] == [
        "Alpha",
        "empty",
        "zulu",
    ]
    assert [t.name for t in CATALOG.list_tables(ACME, "sales", "alpha")] == ["a", "b", "C"]
    assert CATALOG.list_tables(ACME, "sales", "empty") == ()
    assert [t.full_name for t in CATALOG.list_all_tables(ACME, "sales")] == [
        "Sales.Alpha.a",
        "Sales.Alpha.b",
        "Sales.Alpha.C",
        "Sales.zulu.only",
    ]


@pytest.mark.parametrize("share", ["hidden", "absent"])
def test_a_share_that_is_not_granted_looks_like_one_that_does_not_exist(share: str) -> None:
    for look_up in (
        lambda: CATALOG.share(ACME, share),
        lambda: CATALOG.schema(ACME, share, "s"),
        lambda: CATALOG.list_schemas(ACME, share),
        lambda: CATALOG.list_tables(ACME, share, "s"),
        lambda: CATALOG.list_all_tables(ACME, share),
    ):
        with pytest.raises(ResourceNotFound) as caught:
            look_up()
        assert caught.value.message == f"share '{share}' not found"
    with pytest.raises(ResourceNotFound) as caught:
        CATALOG.table(ACME, share, "s", "t")
    assert caught.value.message == (
        f"[Share/Schema/Table] '{share}/s/t' does not exist, "
        "please contact your share provider for further information."
    )


@pytest.mark.parametrize(("schema", "name"), [("absent", "a"), ("alpha", "absent")])
def test_the_message_of_a_missing_table_names_no_part(schema: str, name: str) -> None:
    with pytest.raises(ResourceNotFound) as caught:
        CATALOG.table(ACME, "sales", schema, name)
    assert caught.value.message.startswith(
        f"[Share/Schema/Table] 'sales/{schema}/{name}' does not exist, please"
    )


def test_a_missing_schema_is_named() -> None:
    with pytest.raises(ResourceNotFound) as caught:
        CATALOG.list_tables(ACME, "sales", "Absent")
    assert caught.value.message == "schema 'Absent' not found"


@pytest.mark.parametrize(
    ("secret", "now_ms", "who"),
    [
        ("old", 999, ACME),
        ("new", 500, ACME),
        ("new", 1999, ACME),
        ("ever", 10**15, ACME),
        ("all", 0, ALL),
    ],
)
def test_a_valid_token_names_its_recipient(secret: str, now_ms: int, who: Recipient) -> None:
    assert CATALOG.authenticate(secret, now_ms) is who


@pytest.mark.parametrize(
    ("secret", "now_ms", "message"),
    [
        ("old", 1000, "expired"),
        ("new", 2000, "expired"),
        ("new", 499, "not valid yet"),
        ("wrong", 0, "not valid. Check"),
        ("", 0, "not valid. Check"),
        ("\udce9\ud800é", 0, "not valid. Check"),
        (hashed("ever"), 0, "not valid. Check"),
    ],
)
def test_any_other_token_is_refused(secret: str, now_ms: int, message: str) -> None:
    with pytest.raises(Unauthenticated, match=message) as caught:
        CATALOG.authenticate(secret, now_ms)
    assert "acme" not in caught.value.message


def test_a_location_is_indexed_once_for_all_its_names() -> None:
    catalog = Catalog(
        (
            Share(
                "s",
                (
                    Schema(
                        "a",
                        "s",
                        (
                            table("s", "a", "plain", "s3://b/one", start_version=1),
                            table(
                                "s", "a", "late", "s3://b/one", history_shared=True, start_version=7
                            ),
                            table(
                                "s", "a", "soon", "s3://b/one", history_shared=True, start_version=3
                            ),
                            table("s", "a", "other", "s3://b/another", start_version=9),
                        ),
                    ),
                ),
            ),
        )
    )
    another, one = catalog.tables_by_location()
    assert another == SharedLocation("s3://b/another", another.index_id, False, 0, ("s.a.other",))
    assert one == SharedLocation(
        "s3://b/one", one.index_id, True, 3, ("s.a.late", "s.a.plain", "s.a.soon")
    )
    assert one.index_id == next(iter(catalog.tables())).index_id != another.index_id
