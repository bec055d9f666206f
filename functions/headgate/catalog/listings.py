"""Pages of the listings, with signed tokens.

Source: Delta Sharing protocol, "List Shares" and the other list APIs (`maxResults`, `pageToken`).
A token names the last item of its page, not a number of items, so pages neither repeat nor skip
what stays in the catalog while it changes. It serves only the endpoint, recipient and parent that
it was issued for.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from headgate.errors import InvalidParameter
from headgate.model.sharing import Schema, Share, Table
from headgate.tokens import TokenError, TokenSigner

MAX_RESULTS = 500
_PURPOSE = "list"

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    items: tuple[Item, ...]
    next_page_token: str | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """What a listing token is bound to. `parent` is the share, or share and schema, listed."""

    endpoint: str
    recipient: str
    parent: tuple[str, ...] = ()

    def claim(self) -> list[str]:
        return [self.endpoint, self.recipient, *(name.lower() for name in self.parent)]


def name_key(item: Share | Schema | Table) -> str:
    """The order of listings of one kind below one parent."""
    return item.name.lower()


def table_key(table: Table) -> str:
    """The order of all tables of a share; the separator sorts below every character of a name."""
    return f"{table.schema.lower()}\0{table.name.lower()}"


def page(
    items: Sequence[Item],
    key: Callable[[Item], str],
    scope: Scope,
    tokens: TokenSigner,
    max_results: int | None = None,
    page_token: str | None = None,
) -> Page[Item]:
    """One page of `items`, which are in the order of `key`.

    An empty `page_token` counts as none. Raises InvalidParameter with the reference server's
    messages.
    """
    if max_results is not None and not 0 <= max_results <= MAX_RESULTS:
        raise InvalidParameter(
            f"Acceptable values of 'maxResults' are 0 to {MAX_RESULTS}, inclusive. "
            f"(Default: {MAX_RESULTS})"
        )
    after = _position(page_token, scope, tokens) if page_token else ""
    start = bisect_right(items, after, key=key)
    end = start + (MAX_RESULTS if max_results is None else max_results)
    chosen = tuple(items[start:end])
    if end >= len(items):
        return Page(chosen)
    last = key(chosen[-1]) if chosen else after
    return Page(chosen, tokens.issue(_PURPOSE, {"of": scope.claim(), "after": last}))


def _position(page_token: str, scope: Scope, tokens: TokenSigner) -> str:
    try:
        claims = tokens.read(_PURPOSE, page_token)
    except TokenError as error:
        raise InvalidParameter("invalid 'nextPageToken'") from error
    if claims["of"] != scope.claim():
        raise InvalidParameter("invalid 'nextPageToken'")
    return str(claims["after"])
