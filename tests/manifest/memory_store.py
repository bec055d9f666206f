"""Object storage in memory, as far as manifests need it."""

from collections.abc import Sequence

from headgate.errors import ObjectNotFound


class MemoryStore:
    """Keys and bytes; it counts what is read."""

    url = "memory://"

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.reads: list[tuple[str, int]] = []

    def get(self, key: str) -> bytes:
        if key not in self.objects:
            raise ObjectNotFound(key)
        self.reads.append((key, len(self.objects[key])))
        return self.objects[key]

    def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        body = self.get(key)
        self.reads[-1] = (key, sum(length for _, length in ranges))
        return [body[offset : offset + length] for offset, length in ranges]

    def put(self, key: str, body: bytes) -> str:
        self.objects[key] = body
        return ""
