"""Signed tokens: what was issued is read back, and nothing else is."""

import base64
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.tokens import InvalidToken, TokenError, TokenSigner, WrongPurpose

SIGNER = TokenSigner(b"a secret of the tests, 32 bytes.")
ALPHABET = string.ascii_letters + string.digits + "-_"

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
claims = st.dictionaries(st.text(), json_values, max_size=5)


@given(claims, st.text(min_size=1))
def test_claims_are_read_back(claims: dict, purpose: str) -> None:
    token = SIGNER.issue(purpose, claims)
    assert set(token) <= set(ALPHABET)
    assert SIGNER.read(purpose, token) == claims
    assert SIGNER.issue(purpose, claims) == token


@given(claims, st.data())
def test_a_flipped_bit_is_rejected(claims: dict, data: st.DataObject) -> None:
    token = SIGNER.issue("page", claims)
    raw = bytearray(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    bit = data.draw(st.integers(0, len(raw) * 8 - 1))
    raw[bit // 8] ^= 1 << bit % 8
    altered = base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
    with pytest.raises(InvalidToken):
        SIGNER.read("page", altered)


@given(claims, st.data())
def test_an_altered_spelling_is_rejected(claims: dict, data: st.DataObject) -> None:
    token = SIGNER.issue("page", claims)
    at = data.draw(st.integers(0, len(token)))
    character = data.draw(st.sampled_from(ALPHABET + "=+/ \n%é\x00"))
    inserted = token[:at] + character + token[at:]
    deleted = token[:at] + token[at + 1 :]
    replaced = token[:at] + character + token[at + 1 :]
    for altered in {inserted, deleted, replaced} - {token}:
        with pytest.raises(InvalidToken):
            SIGNER.read("page", altered)


def test_spare_bits_of_the_last_character_are_not_free() -> None:
    tokens = [SIGNER.issue("page", {"n": "x" * n}) for n in range(3)]
    spare = [token for token in tokens if len(token) % 4]
    assert spare
    for token in spare:
        for last in set(ALPHABET) - {token[-1]}:
            with pytest.raises(InvalidToken):
                SIGNER.read("page", token[:-1] + last)


@given(st.text())
def test_any_other_text_is_rejected(text: str) -> None:
    with pytest.raises(TokenError):
        SIGNER.read("page", text)


def test_a_token_serves_one_purpose() -> None:
    with pytest.raises(WrongPurpose):
        SIGNER.read("refresh", SIGNER.issue("page", {"v": 1}))


def test_a_token_of_another_secret_is_rejected() -> None:
    other = TokenSigner(b"another secret of 32 bytes here.")
    with pytest.raises(InvalidToken):
        SIGNER.read("page", other.issue("page", {"v": 1}))


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        TokenSigner(b"short")
