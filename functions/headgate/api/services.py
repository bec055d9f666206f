"""What the routes work with, made once by whoever builds the app."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from headgate.catalog.catalog import Catalog
from headgate.tokens import TokenSigner


def wall_clock_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True)
class Services:
    """The catalog as it is now, the signer of tokens, and the clock.

    `catalog` is called once a request, on a worker thread: it may read storage when its copy is
    old. An app whose routes need more derives from this class.
    """

    catalog: Callable[[], Catalog]
    tokens: TokenSigner
    now_ms: Callable[[], int] = wall_clock_ms
