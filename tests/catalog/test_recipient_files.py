"""Recipient files: rotation keeps what it must, and files of others are left alone."""

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.catalog.loader import load_catalog
from headgate.catalog.recipient_files import (
    new_token,
    owned_file,
    recipient_file,
    rotated,
    write_private,
    write_recipient,
)
from headgate.errors import CatalogError
from headgate.model.sharing import Recipient, Token

times = st.none() | st.integers(0, 100)


@given(
    st.lists(st.tuples(times, times), max_size=4),
    st.integers(0, 100),
    st.integers(0, 50),
    st.integers(0, 200),
)
def test_rotation(
    held: list[tuple[int | None, int | None]], now_ms: int, overlap_ms: int, then_ms: int
) -> None:
    tokens = tuple(Token(f"{n:064}", begin, end) for n, (begin, end) in enumerate(held))
    fresh = Token("f" * 64)
    changed = rotated(Recipient("r", None, tokens), fresh, now_ms, overlap_ms).tokens
    assert changed[-1] == fresh
    by_hash = {token.sha256: token for token in changed}
    for old in tokens if then_ms >= now_ms else ():
        after = by_hash.get(old.sha256)
        valid = after is not None and after.valid_at(then_ms)
        assert valid == (old.valid_at(then_ms) and then_ms < now_ms + overlap_ms)
        if after is not None and after.not_before_ms is not None:
            assert after.expires_at_ms is not None
            assert after.not_before_ms < after.expires_at_ms


def test_a_token_has_256_bits_and_is_never_shown() -> None:
    made = new_token(5)
    assert made.token == Token(hashlib.sha256(made.secret.encode()).hexdigest(), None, 5)
    assert len(made.secret) == 43
    assert made.secret not in repr(made)
    assert new_token(5).secret != made.secret


@pytest.mark.parametrize("shares", [None, frozenset(), frozenset({"one"})])
def test_a_written_recipient_is_read_back(tmp_path: Path, shares: frozenset[str] | None) -> None:
    (tmp_path / "shares.yaml").write_text("shares: [{name: One}]")
    # A hash of digits alone, and one like a float: YAML would take either for a number.
    tokens = (Token("1" * 64), Token("1e" + "2" * 62, 1000, 86_400_000))
    recipient = Recipient("acme@corp", shares, tokens, "Ä: comment")
    path = recipient_file(tmp_path, recipient.name)
    write_recipient(path, recipient)
    assert load_catalog(tmp_path).recipients == (recipient,)
    assert owned_file(tmp_path, recipient) == path
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    "text",
    [
        "recipients: [{name: acme, shares: []}, {name: other, shares: []}]",
        "shares: []\nrecipients: [{name: acme, shares: []}]",
        "",
    ],
)
def test_a_file_with_more_than_the_recipient_is_not_ours(tmp_path: Path, text: str) -> None:
    path = recipient_file(tmp_path, "acme")
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(CatalogError, match="written by hand"):
        owned_file(tmp_path, Recipient("acme", frozenset()))
    assert path.read_text() == text


def test_a_catalog_of_one_file_is_not_rewritten(tmp_path: Path) -> None:
    file = tmp_path / "server.yaml"
    file.write_text("version: 1")
    with pytest.raises(CatalogError, match="put it into a folder"):
        recipient_file(file, "acme")


@pytest.mark.parametrize("overwrite", [False, True])
def test_private_files_are_their_owner_s(tmp_path: Path, overwrite: bool) -> None:
    path = tmp_path / "new" / "x.share"
    write_private(path, "secret", overwrite)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text() == "secret"
    with pytest.raises(FileExistsError):
        write_private(path, "other", overwrite=False)
    write_private(path, "other", overwrite=True)
    assert path.read_text() == "other"
    assert path.stat().st_mode & 0o777 == 0o600
