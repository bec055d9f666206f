"""Catalog files: what is valid, what a reference-server file means, and how faults are told."""

import hashlib
import textwrap
from pathlib import Path

import pytest

from headgate.catalog.catalog import ServerOptions
from headgate.catalog.loader import load_catalog
from headgate.errors import CatalogError
from headgate.model.sharing import Recipient, Table, Token

REPO = Path(__file__).resolve().parents[2]
HASH = "a" * 64


def write(folder: Path, text: str, name: str = "shares.yaml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def problems(path: Path) -> str:
    with pytest.raises(CatalogError) as caught:
        load_catalog(path)
    return str(caught.value)


FULL = f"""\
    shares:
      - name: Retail
        id: share-1
        displayName: Rétail
        comment: what it is
        properties: {{owner: us, region: eu}}
        schemas:
          - name: sales
            comment: numbers
            tables:
              - name: Orders
                location: s3a://lake/orders/
                id: table-1
                historyShared: true
                startVersion: 3
                comment: all of them
              - {{name: stores, location: tables/stores}}
          - name: empty
            tables:
    recipients:
      - name: acme
        shares: [RETAIL]
        comment: a contract
        tokens:
          - {{sha256: {HASH}, notBefore: 2026-01-01, expires: 2026-01-02T00:00:00+01:00}}
          - {{sha256: {"B" * 64}}}
      - {{name: staff, shares: "*"}}
    """


def test_every_key_is_read(tmp_path: Path) -> None:
    catalog = load_catalog(write(tmp_path, FULL))
    (share,) = catalog.shares
    assert (share.name, share.id, share.display_name) == ("Retail", "share-1", "Rétail")
    assert (share.comment, share.properties) == ("what it is", {"owner": "us", "region": "eu"})
    sales, empty = share.schemas
    assert (sales.comment, empty.comment, empty.tables) == ("numbers", None, ())
    assert sales.tables == (
        Table(
            "Orders", "sales", "Retail", "s3://lake/orders", "table-1", "share-1", True, 3,
            "all of them",
        ),
        Table(
            "stores", "sales", "Retail", (tmp_path.resolve() / "tables/stores").as_uri(),
            share_id="share-1",
        ),
    )  # fmt: skip
    day_ms = 86_400_000
    start_ms = 20_454 * day_ms  # 2026-01-01
    assert catalog.recipients == (
        Recipient(
            "acme",
            frozenset({"retail"}),
            (Token(HASH, start_ms, start_ms + 23 * day_ms // 24), Token("b" * 64)),
            "a contract",
        ),
        Recipient("staff", None),
    )
    assert catalog.server == ServerOptions()


def test_the_files_of_a_folder_are_one_catalog(tmp_path: Path) -> None:
    write(tmp_path, "shares: [{name: one}]", "one.yaml")
    write(tmp_path, "shares: [{name: two}]", "teams/two.YML")
    write(tmp_path, "recipients: [{name: acme, shares: [one, two]}]", "recipients/acme.yaml")
    write(tmp_path, "# nothing yet\n", "later.yaml")
    write(tmp_path, "not: a catalog", ".hidden/x.yaml")
    write(tmp_path, "not: a catalog", "notes.txt")
    catalog = load_catalog(tmp_path)
    assert [share.name for share in catalog.shares] == ["one", "two"]
    assert catalog.recipients[0].shares == {"one", "two"}


def test_a_location_is_relative_to_its_own_file(tmp_path: Path) -> None:
    text = "shares: [{name: a, schemas: [{name: b, tables: [{name: c, location: ../data/c}]}]}]"
    catalog = load_catalog(write(tmp_path, text, "deep/shares.yaml").parent.parent)
    assert catalog.shares[0].schemas[0].tables[0].location == (
        (tmp_path.resolve() / "data/c").as_uri()
    )


def test_the_example_catalog_is_valid() -> None:
    catalog = load_catalog(REPO / "catalog")
    assert len(catalog.shares) == 2
    # An example must not open a deployment to whoever has read it.
    assert all(recipient.tokens == () for recipient in catalog.recipients)


REFERENCE = """\
    # The format version of this config file
    version: 1
    shares:
    - name: "share1"
      schemas:
      - name: "schema1"
        tables:
        - name: "table1"
          location: "s3a://bucket/path"
          id: "00000000-0000-0000-0000-000000000000"
        - name: "table2"
          location: "s3a://bucket/other"
          historyShared: true
          startVersion: 1
          somethingElse: [1, 2]
    authorization:
      bearerToken: dapi5e3574ec767ca1548ae5bbed1a2dc04d
    host: "localhost"
    port: 8080
    endpoint: "/delta-sharing"
    ssl: {selfSigned: true}
    preSignedUrlTimeoutSeconds: 900
    deltaTableCacheSize: 10
    stalenessAcceptable: false
    evaluatePredicateHints: false
    evaluateJsonPredicateHints: true
    queryTablePageSizeLimit: 100
    queryTablePageTokenTtlMs: 1000
    """


def test_a_reference_server_file_works_unchanged(tmp_path: Path) -> None:
    catalog = load_catalog(write(tmp_path, REFERENCE))
    (share,) = catalog.shares
    assert share.schemas[0].tables == (
        Table(
            "table1",
            "schema1",
            "share1",
            "s3://bucket/path",
            "00000000-0000-0000-0000-000000000000",
        ),
        Table(
            "table2", "schema1", "share1", "s3://bucket/other", history_shared=True, start_version=1
        ),
    )
    assert catalog.server == ServerOptions("localhost", 8080, "/delta-sharing", 900, 100, 1000)
    recipient = catalog.authenticate("dapi5e3574ec767ca1548ae5bbed1a2dc04d", 0)
    assert (recipient.name, recipient.shares) == ("default", None)


def test_a_reference_server_file_beside_recipients_of_our_own(tmp_path: Path) -> None:
    write(tmp_path, REFERENCE, "server.yaml")
    write(tmp_path, "recipients: [{name: acme, shares: [share1]}]", "recipients/acme.yaml")
    assert [r.name for r in load_catalog(tmp_path).recipients] == ["acme", "default"]
    write(tmp_path, "recipients: [{name: Default, shares: []}]", "recipients/other.yaml")
    assert "makes a recipient named 'default'" in problems(tmp_path)


def test_the_bearer_token_of_a_reference_server_file_is_one_recipient_s(tmp_path: Path) -> None:
    digest = hashlib.sha256(b"dapi5e3574ec767ca1548ae5bbed1a2dc04d").hexdigest()
    write(tmp_path, REFERENCE, "server.yaml")
    write(
        tmp_path,
        f"recipients: [{{name: acme, shares: [], tokens: [{{sha256: {digest}}}]}}]",
        "acme.yaml",
    )
    assert "a recipient holds this token already" in problems(tmp_path)


TABLE = "shares: [{name: a, schemas: [{name: b, tables: [%s]}]}]"

WRONG = {
    "misspelt key": (
        "shares:\n  - name: a\n    schemas:\n      - name: b\n        tables:\n"
        "          - name: c\n            locaton: x\n            location: x\n",
        ["shares.yaml:6: shares[0].schemas[0].tables[0]: unknown key 'locaton'",
         "did you mean 'location'?"],
    ),
    "case of a key": ("shares: [{name: a, displayname: x}]", ["did you mean 'displayName'?"]),
    "far key": ("other: 1", ["unknown key 'other': the keys here are recipients, shares"]),
    "missing location": (TABLE % "{name: c}", ["tables[0]: the key 'location' is missing"]),
    "missing both": (TABLE % "{id: x}", ["'name' is missing", "'location' is missing"]),
    "empty location": (TABLE % "{name: c, location: ''}", ["location: must not be empty"]),
    "unknown scheme": (TABLE % "{name: c, location: 'ftp://x/y'}", ["tables[0].location:", "s3://"]),
    "name that YAML reads as a boolean": (
        "shares: [{name: no}]", ["name: must be a text, not false: put it in quotes"]
    ),
    "number for a name": ("shares: [{name: 7}]", ["must be a text, not 7: put it in quotes"]),
    "space in a name": ("shares: [{name: 'a b'}]", ["without spaces, slashes", '"a b"']),
    "line feed in a name": ('shares: [{name: "ab\\n"}]', ["without spaces, slashes"]),
    "slash in a name": ("shares: [{name: a/b}]", ["without spaces, slashes"]),
    "delete character in a name": ('shares: [{name: "a\\x7f"}]', ["control characters"]),
    "long name": (f"shares: [{{name: {'x' * 256}}}]", ["1 to 255 characters"]),
    "dot in a schema": (
        "shares: [{name: a.b, schemas: [{name: a.b}]}]", ["schemas[0].name", "dots"]
    ),
    "dot in a table": (TABLE % "{name: a.b, location: x}", ["tables[0].name", "dots"]),
    "negative version": (TABLE % "{name: a, location: x, startVersion: -1}", ["must be 0 or more"]),
    "text for a version": (
        TABLE % "{name: a, location: x, startVersion: '1'}",
        ['must be a whole number, not "1"'],
    ),
    "text for a boolean": (
        TABLE % "{name: a, location: x, historyShared: 'yes'}", ["must be true or false"]
    ),
    "long display name": (f"shares: [{{name: a, displayName: {'x' * 256}}}]", ["at most 255"]),
    "long comment": (f"shares: [{{name: a, comment: {'x' * 65537}}}]", ["at most 65536"]),
    "long property": (f"shares: [{{name: a, properties: {{k: {'x' * 1001}}}}}]",
                      ["properties.k: must have at most 1000"]),
    "long property key": (f"shares: [{{name: a, properties: {{{'k' * 256}: v}}}}]",
                          ["each key must have 1 to 255"]),
    "many properties": (
        "shares: [{name: a, properties: {" + ", ".join(f"k{n}: v" for n in range(51)) + "}}]",
        ["at most 50 keys"],
    ),
    "number as a property": ("shares: [{name: a, properties: {year: 2026}}]",
                             ["properties.year: must be a text, not 2026: put it in quotes"]),
    "a list for the file": ("- name: a", ["must be a mapping, not a list"]),
    "a mapping for shares": ("shares: {name: a}", ["shares: must be a list, not a mapping"]),
    "two shares": ("shares: [{name: a}, {name: A}]",
                   ["shares[1].name: a second share named 'A'", "first at shares[0].name"]),
    "two share ids": ("shares: [{name: a, id: x}, {name: b, id: x}]",
                      ["shares[1].id: another share"]),
    "two schemas": ("shares: [{name: a, schemas: [{name: b}, {name: B}]}]",
                    ["schemas[1].name: a second schema named"]),
    "two tables": (TABLE % "{name: c, location: x}, {name: C, location: y}",
                   ["tables[1].name: a second table named 'C'"]),
    "two table ids": (TABLE % "{name: c, location: x, id: i}, {name: d, location: y, id: i}",
                      ["tables[1].id: another table"]),
    "no such share": ("recipients: [{name: a, shares: [gone]}]",
                      ["recipients[0].shares[0]: there is no share named 'gone'"]),
    "star in a list": ("recipients: [{name: a, shares: ['*']}]", ['write shares: "*"']),
    "bare share": ("shares: [{name: s}]\nrecipients: [{name: a, shares: s}]",
                   ["shares: must be a list of share names"]),
    "grants forgotten": ("recipients: [{name: a}]", ["the key 'shares' is missing"]),
    "two recipients": ("recipients: [{name: a, shares: []}, {name: A, shares: []}]",
                       ["a second recipient named 'A'"]),
    "recipient as a path": ("recipients: [{name: ../a, shares: []}]", ["1 to 64 letters"]),
    "a token instead of its hash": (
        "recipients: [{name: a, shares: [], tokens: [{sha256: secret}]}]",
        ["never the token itself"],
    ),
    "one token twice": (
        f"recipients: [{{name: a, shares: [], tokens: [{{sha256: {HASH}}}]}},"
        f" {{name: b, shares: [], tokens: [{{sha256: {'A' * 64}}}]}}]",
        ["recipients[1].tokens[0].sha256: this token is listed already"],
    ),
    "no time": (
        f"recipients: [{{name: a, shares: [], tokens: [{{sha256: {HASH}, expires: soon}}]}}]",
        ["tokens[0].expires: 'soon' is not a time"],
    ),
    "no time zone": (
        f"recipients: [{{name: a, shares: [],"
        f" tokens: [{{sha256: {HASH}, expires: '2027-01-01T00:00:00'}}]}}]",
        ["has no time zone"],
    ),
    "times reversed": (
        f"recipients: [{{name: a, shares: [], tokens:"
        f" [{{sha256: {HASH}, notBefore: 2027-01-02, expires: 2027-01-02}}]}}]",
        ["expires: must be later than notBefore"],
    ),
    "reserved key": ("recipients: [{name: a, shares: [], allowedIps: []}]", ["unknown key"]),
    "version of ours": ("version: 2", ["version: must be 1"]),
    "reference name missing": ("version: 1\nshares: [{schemas: []}]", ["'name' is missing"]),
    "reference timeout": ("version: 1\npreSignedUrlTimeoutSeconds: 0", ["1 to 604800"]),
    "key given twice": ("shares: []\nshares: []", ["shares.yaml:2: not valid YAML", "given twice"]),
    "number for a key": ("shares: [{name: a, 1: x}]", ["shares[0]: unknown key 1"]),
    "number for a property key": ("shares: [{name: a, properties: {1: x}}]",
                                  ["properties: must be a text, not 1: put it in quotes"]),
    "bytes": ("shares: [{name: !!binary aGk=}]", ["must be a text"]),
    "set": ("shares: [{name: !!set {a}}]", ["must be a text"]),
    "unknown tag": ("shares: !include other.yaml", ["not valid YAML", "!include"]),
    "list for a key": ("shares: [{[a]: b}]", ["not valid YAML"]),
    "not YAML": ("shares: [", ["not valid YAML"]),
    "two documents": ("shares: []\n---\nshares: []", ["not valid YAML"]),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_fault_is_told_with_its_place_and_remedy(tmp_path: Path, case: str) -> None:
    text, expected = WRONG[case]
    told = problems(write(tmp_path, text))
    assert told.startswith(f"{len(told.splitlines()) - 1} problem")
    for part in expected:
        assert part in told
    assert str(tmp_path / "shares.yaml") in told


def test_all_problems_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    write(tmp_path, "shares: [{name: a b}, {nam: c}]", "one.yaml")
    write(tmp_path, "shares: [{name: d}]\nrecipients: [{name: r, shares: [c]}]", "two.yaml")
    write(tmp_path, "shares: [{name: D}]", "three.yaml")
    told = problems(tmp_path)
    assert told.startswith("4 problems in the catalog:\n")
    for part in ("one.yaml:1: shares[0].name", "unknown key 'nam'", "'name' is missing"):
        assert part in told
    assert "two.yaml:1: shares[0].name: a second share named 'd'" in told
    assert f"first at {tmp_path / 'three.yaml'}, shares[0].name" in told
    # The share that r is granted may be in the file that could not be read.
    assert "there is no share" not in told


def test_two_reference_server_files(tmp_path: Path) -> None:
    write(tmp_path, "version: 1", "a.yaml")
    write(tmp_path, "version: 1", "b.yaml")
    assert "b.yaml:1: version: " in problems(tmp_path)


def test_a_catalog_that_is_not_there(tmp_path: Path) -> None:
    assert "does not exist" in problems(tmp_path / "none")
    assert "holds no *.yaml file" in problems(tmp_path)


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(b"shares: \xff")
    assert "x.yaml: is not UTF-8 text" in problems(tmp_path)


def test_merge_keys_and_anchors(tmp_path: Path) -> None:
    text = """\
        shares:
          - &first {name: a, comment: shared}
          - {<<: *first, name: b}
        """
    catalog = load_catalog(write(tmp_path, text))
    assert [(share.name, share.comment) for share in catalog.shares] == [
        ("a", "shared"),
        ("b", "shared"),
    ]


def test_a_large_catalog(tmp_path: Path) -> None:
    tables = "".join(
        f"          - name: table{n}\n            location: s3://lake/table{n}\n"
        for n in range(3000)
    )
    text = f"shares:\n  - name: a\n    schemas:\n      - name: b\n        tables:\n{tables}"
    (tmp_path / "shares.yaml").write_text(text)
    catalog = load_catalog(tmp_path)
    assert len(catalog.tables_by_location()) == 3000
    wrong = text.replace("name: table2999", "name: TABLE0")
    (tmp_path / "shares.yaml").write_text(wrong)
    assert f"shares.yaml:{wrong.count(chr(10)) - 1}: shares[0]" in problems(tmp_path)
