"""A table's index made by hand, with few files to a zone, so that small tables have many zones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import orjson
import pyarrow as pa

from headgate.manifest import write
from headgate.manifest.actions import ACTIONS
from headgate.manifest.head import (
    Base,
    Epoch,
    Head,
    SchemaChange,
    Segment,
    Totals,
    commits_key,
    encode_head,
    files_key,
    head_key,
    prune_key,
    render_key,
    zones_key,
)
from headgate.manifest.keys import file_key
from headgate.manifest.rows import RowBuilder
from headgate.model.actions import Metadata, Protocol
from headgate.model.sharing import Table
from headgate.storage.local import LocalObjectStore

ZONE_FILES = 3
SIZE = 100  # bytes of each file
TABLE = Table("t", "s", "h", "file:///t", history_shared=True)
_SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in (("x", "long"), ("y", "double"), ("part", "string"))
    ],
}


@dataclass(frozen=True)
class File:
    """A data file: what its statistics say of x and y (None: nothing), and its rows."""

    path: str
    x: tuple[int, int] | None
    y: tuple[float, float] | None = None
    rows: int | None = 10
    part: str = "p"


def write_index(
    folder: Path, parts: Sequence[Sequence[File]], commits: Sequence[Mapping[str, File | None]]
) -> LocalObjectStore:
    """An index of TABLE: at version 0 `parts` of base files, then one version for each commit,
    which adds files by path, or removes them where None.
    """
    metadata = Metadata.from_json(
        {
            "id": "m",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": orjson.dumps(_SCHEMA).decode(),
            "partitionColumns": ["part"],
            "configuration": {},
        }
    )
    builder = RowBuilder(metadata)
    store = LocalObjectStore(folder)
    table_id = TABLE.index_id
    names = [f"part{number}" for number, _ in enumerate(parts)]
    zones = []
    with patch.object(write, "BATCH_FILES", ZONE_FILES):
        for name, files in zip(names, parts, strict=True):
            rows = [_action(0, place, file.path, file) for place, file in enumerate(files)]
            part = write.encode_part([builder.build(_batch(rows))], builder.columns)
            store.put(prune_key(table_id, "b", name), part.prune)
            store.put(render_key(table_id, "b", name), part.render)
            zones.append(part.zones)
    store.put(zones_key(table_id, "b"), write.encode_zones(zones, builder.columns))

    live = {file.path: file for files in parts for file in files}
    first = _totals(live)
    segments, commit_rows = [], []
    actions = []
    for version, commit in enumerate(commits, 1):
        for place, (path, file) in enumerate(commit.items()):
            actions.append(_action(version, place, path, file))
            live.pop(path, None)
            if file is not None:
                live[path] = file
        commit_rows.append(_commit(version, _totals(live)))
    if commits:
        segments.append(Segment("tail", 1, len(commits), len(actions)))
        changes = write.encode_segment([builder.changes(_batch(actions))])
        store.put(files_key(table_id, "tail"), changes)
        listed = pa.RecordBatch.from_pylist(commit_rows, write.COMMITS)
        store.put(commits_key(table_id, "tail"), write.encode_batches([listed]))
    head = Head(
        table_id=table_id,
        location=TABLE.location,
        version=len(commits),
        timestamp_ms=len(commits),
        totals=_totals(live),
        history=(SchemaChange(0, Protocol(1, 2, None, None), metadata),),
        epochs=(Epoch(0, len(commits), 0, Base("b", tuple(names), first), tuple(segments)),),
        state="",
        indexed_at_ms=0,
    )
    store.put(head_key(table_id), encode_head(head))
    return store


def _totals(live: Mapping[str, File]) -> Totals:
    rows = [file.rows for file in live.values()]
    known = None if None in rows else sum(count or 0 for count in rows)
    return Totals(len(live), SIZE * len(live), known, 0)


def _commit(version: int, totals: Totals) -> dict[str, Any]:
    return {
        "version": version,
        "timestamp": version,
        "schema_change": False,
        "files": totals.files,
        "bytes": totals.bytes,
        "records": totals.records,
        "deletion_vectors": 0,
    }


def _action(version: int, place: int, path: str, file: File | None) -> dict[str, Any]:
    action: dict[str, Any] = {
        "version": version,
        "ordinal": place,
        "action": "remove" if file is None else "add",
        "key": file_key(path),
        "path": path,
        "data_change": True,
    }
    if file is None:
        return action
    stats: dict[str, Any] = {}
    if file.rows is not None:
        known = {name: ends for name, ends in (("x", file.x), ("y", file.y)) if ends is not None}
        stats = {
            "numRecords": file.rows,
            "minValues": {name: ends[0] for name, ends in known.items()},
            "maxValues": {name: ends[1] for name, ends in known.items()},
            "nullCount": dict.fromkeys(known, 0),
        }
    return action | {
        "partition_values": {"part": file.part},
        "size": SIZE,
        "modification_time": 0,
        "stats": orjson.dumps(stats).decode() if stats else None,
    }


def _batch(rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([dict(row) for row in rows], ACTIONS)
