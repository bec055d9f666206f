"""File lines of a response, rendered a batch at a time.

One Arrow kernel joins URLs, ids and the pre-rendered fragments of the manifest; the data buffer of
its result is the response body.

Source: Delta Sharing protocol, "API Response Format in Parquet" and "... in Delta".
"""

import hashlib
import json
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from headgate.model.deletion_vectors import relative_path
from headgate.query.formats import ResponseFormat
from headgate.storage.base import UrlSigner


@dataclass(frozen=True, slots=True)
class Stamp:
    """The version and commit timestamp (ms) that time travel puts on every file."""

    version: int
    timestamp_ms: int


class LineRenderer:
    """Renders `file` lines of one answer.

    `file_id_hash` overrides the format's own kind of file id: `parquet` is MD5 and `delta` SHA-256
    of the path in the log, both as hexadecimal digits.
    """

    def __init__(
        self,
        chosen: ResponseFormat,
        signer: UrlSigner,
        url_ttl_s: int,
        stamp: Stamp | None,
        file_id_hash: ResponseFormat | None = None,
    ) -> None:
        self._format = chosen
        self._signer = signer
        self._url_ttl_s = url_ttl_s
        self._stamp = (
            "" if stamp is None else f'"version":{stamp.version},"timestamp":{stamp.timestamp_ms},'
        )
        self._sha = (file_id_hash or chosen) is ResponseFormat.DELTA

    def lines(self, files: pa.RecordBatch) -> memoryview:
        """The NDJSON lines of a batch of render rows (`manifest.rows.RENDER_FIELDS`)."""
        paths = files.column("path").to_pylist()
        urls, expires_at_ms = self._signer.sign(paths, self._url_ttl_s)
        url = pa.array(urls, pa.binary()).cast(pa.string())
        identity = pa.array(self._ids(paths))
        if self._format is ResponseFormat.PARQUET:
            pieces = self._parquet(files, url, identity, expires_at_ms)
        else:
            pieces = self._delta(files, url, identity, expires_at_ms)
        lines = pc.binary_join_element_wise(*pieces, "")
        return _data(lines)

    def _ids(self, paths: list[str]) -> list[str]:
        if self._sha:
            return [hashlib.sha256(path.encode()).hexdigest() for path in paths]
        return [hashlib.md5(path.encode(), usedforsecurity=False).hexdigest() for path in paths]

    def _parquet(
        self, files: pa.RecordBatch, url: pa.Array, identity: pa.Array, expires_at_ms: int
    ) -> list[pa.Array | str]:
        return [
            '{"file":{"url":"',
            url,
            '","id":"',
            identity,
            '","partitionValues":',
            files.column("partition_values"),
            ',"size":',
            _number(files, "size"),
            *_optional(files, "stats", ',"stats":"', '"'),
            f',{self._stamp}"expirationTimestamp":{expires_at_ms}}}}}\n',
        ]

    def _delta(
        self, files: pa.RecordBatch, url: pa.Array, identity: pa.Array, expires_at_ms: int
    ) -> list[pa.Array | str]:
        vector_ids, vectors = self._deletion_vectors(files)
        return [
            '{"file":{"id":"',
            identity,
            vector_ids,
            f'",{self._stamp}"expirationTimestamp":{expires_at_ms},'
            '"deltaSingleAction":{"add":{"path":"',
            url,
            '","partitionValues":',
            files.column("partition_values"),
            ',"size":',
            _number(files, "size"),
            ',"modificationTime":',
            _number(files, "modification_time"),
            ',"dataChange":true',
            *_optional(files, "stats", ',"stats":"', '"'),
            vectors,
            *_optional(files, "base_row_id", ',"baseRowId":', ""),
            *_optional(files, "default_row_commit_version", ',"defaultRowCommitVersion":', ""),
            "}}}}\n",
        ]

    def _deletion_vectors(self, files: pa.RecordBatch) -> tuple[pa.Array | str, pa.Array | str]:
        """What goes behind the file id, and the deletionVector field, for each file."""
        names = [
            "dv_storage_type",
            "dv_path_or_inline",
            "dv_offset",
            "dv_size",
            "dv_cardinality",
        ]
        present = [name for name in names if name in files.schema.names]
        if "dv_storage_type" not in present:
            return "", ""
        # Few files have one: the rest never becomes Python objects.
        having = pc.is_valid(files.column("dv_storage_type"))
        vectors = files.select(present).filter(having).to_pylist()
        if not vectors:
            return "", ""
        stored = {
            place: relative_path(vector["dv_path_or_inline"])
            if vector["dv_storage_type"] == "u"
            else vector["dv_path_or_inline"]
            for place, vector in enumerate(vectors)
            if vector["dv_storage_type"] in ("u", "p")
        }
        urls, _ = self._signer.sign(list(stored.values()), self._url_ttl_s)
        signed = dict(zip(stored, urls, strict=True))
        ids, fields = [], []
        for place, vector in enumerate(vectors):
            field = {
                "storageType": "p" if place in signed else vector["dv_storage_type"],
                "pathOrInlineDv": signed[place].decode()
                if place in signed
                else vector["dv_path_or_inline"],
            }
            for key, name in (
                ("offset", "dv_offset"),
                ("sizeInBytes", "dv_size"),
                ("cardinality", "dv_cardinality"),
            ):
                if vector.get(name) is not None:
                    field[key] = vector[name]
            fields.append(',"deletionVector":' + json.dumps(field, separators=(",", ":")))
            if place in stored:
                digest = hashlib.sha256(stored[place].encode()).hexdigest()
                ids.append(f'","deletionVectorFileId":"{digest}')
            else:
                ids.append("")
        empty = pa.repeat("", files.num_rows)
        return (
            pc.replace_with_mask(empty, having, pa.array(ids)),
            pc.replace_with_mask(empty, having, pa.array(fields)),
        )


def _number(files: pa.RecordBatch, name: str) -> pa.Array:
    return pc.fill_null(files.column(name).cast(pa.string()), "0")


def _optional(files: pa.RecordBatch, name: str, before: str, after: str) -> list[pa.Array | str]:
    """`before`, the value and `after` where there is a value, else nothing."""
    if name not in files.schema.names:
        return []
    values = files.column(name)
    if values.null_count == len(values):
        return []
    text = values if pa.types.is_string(values.type) else values.cast(pa.string())
    if values.null_count == 0:
        return [before, text, after]
    return [pc.fill_null(pc.binary_join_element_wise(before, text, after, ""), "")]


def _data(lines: pa.Array) -> memoryview:
    """The text of all entries, without a copy."""
    if not len(lines):
        return memoryview(b"")
    offsets = memoryview(lines.buffers()[1]).cast("i")
    data = memoryview(lines.buffers()[2])
    return data[offsets[lines.offset] : offsets[lines.offset + len(lines)]]
