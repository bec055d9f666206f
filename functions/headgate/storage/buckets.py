"""Local directories as buckets: names for URLs that tell nothing of the machine's paths."""

import hashlib
import threading
from pathlib import Path


class LocalBuckets:
    """The directories that signed URLs may reach, by an opaque and stable name each.

    A signer adds its table's root; the endpoint looks names up. Safe to use from several threads.
    """

    def __init__(self) -> None:
        self._roots: dict[str, Path] = {}
        self._lock = threading.Lock()

    def add(self, root: Path) -> str:
        """The bucket of an absolute directory, the same in every process."""
        name = hashlib.sha256(str(root).encode(errors="surrogateescape")).hexdigest()[:24]
        with self._lock:
            self._roots[name] = root
        return name

    def root(self, name: str) -> Path | None:
        """The directory of a bucket, or None where no signer has added it."""
        return self._roots.get(name)
