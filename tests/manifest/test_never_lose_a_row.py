"""Invariant 1, end to end: from statistics as writers render them to the files that a query keeps.

Generated rows become files with statistics texts, then actions, manifest objects in storage, and a
selection for each generated predicate, in both hint languages. A file with a matching live row must
be in it, whether it lies in the base or in the tail.
"""

import datetime as dt
import json
import math
from typing import Any
from unittest.mock import patch

import orjson
import pyarrow as pa
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from headgate.manifest import write
from headgate.manifest.actions import ACTIONS
from headgate.manifest.head import (
    Base,
    Epoch,
    Head,
    SchemaChange,
    Segment,
    Totals,
    files_key,
    prune_key,
    render_key,
    zones_key,
)
from headgate.manifest.keys import deletion_vector_id, file_key
from headgate.manifest.read import ManifestReader
from headgate.manifest.rows import RowBuilder
from headgate.model.actions import Metadata, Protocol
from headgate.model.schema import Decimal, Primitive, Struct
from headgate.query.answer import SnapshotQuery, plan_predicate
from headgate.query.prune import select
from headgate.query.versions import Snapshot
from tests.manifest.memory_store import MemoryStore

EPOCH = dt.datetime(1970, 1, 1)


def schema_json(data_type: Any) -> Any:
    if isinstance(data_type, Struct):
        fields = [
            {
                "name": field.name,
                "type": schema_json(field.type),
                "nullable": field.nullable,
                "metadata": dict(field.metadata),
            }
            for field in data_type.fields
        ]
        return {"type": "struct", "fields": fields}
    return data_type.name


def wall(microseconds: int, digits: int, separator: str = "T") -> str:
    moment = EPOCH + dt.timedelta(microseconds=microseconds)
    text = moment.isoformat(sep=separator, timespec="microseconds")
    # isoformat pads years to four digits; the fraction is cut, as formatters of writers do
    return text[: len(text) - (6 - digits)]


def stat_value(draw: Any, kind: Primitive | Decimal, value: Any, upper: bool) -> Any:
    """A bound as some writer puts it into JSON."""
    if isinstance(kind, Decimal):
        return orjson.Fragment(format(value, "f"))
    if kind.name in ("float", "double"):
        if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        return value
    if kind.name == "string":
        if len(value) > 32:
            cut = value[:32]
            return cut + draw(st.sampled_from(["\U0010ffff", ""])) if upper else cut
        return value
    if kind.name == "date":
        return value.isoformat()
    if kind.name in ("timestamp", "timestamp_ntz"):
        text = wall(value, draw(st.sampled_from([3, 6])))
        return text + "Z" if kind.name == "timestamp" else text
    return value


def place(tree: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = value


def stats_text(draw: Any, table: Any, rows: list[tuple[Any, ...]], tight: bool) -> str | None:
    """The statistics of a file's physical rows, some pieces missing."""
    if draw(st.integers(0, 11)) == 0:
        return draw(st.sampled_from([None, "", "{}", "not JSON", '{"numRecords":true}']))
    stats: dict[str, Any] = {"minValues": {}, "maxValues": {}, "nullCount": {}}
    if draw(st.integers(0, 9)):
        stats["numRecords"] = len(rows)
    for index, column in enumerate(table.columns):
        if column.partition or draw(st.integers(0, 9)) == 0:
            continue
        held = [row[index] for row in rows]
        present = [
            value
            for value in held
            if value is not None and not (isinstance(value, float) and math.isnan(value))
        ]
        if draw(st.integers(0, 9)):
            place(stats["nullCount"], column.physical, held.count(None))
        if not present:
            continue
        key = str.encode if column.type.name == "string" else None
        for side, value, upper in (
            ("minValues", min(present, key=key), False),
            ("maxValues", max(present, key=key), True),
        ):
            if draw(st.integers(0, 9)):
                shown = stat_value(draw, column.type, value, upper)
                place(stats[side], column.physical, shown)
    if not tight:
        stats["tightBounds"] = False
    return orjson.dumps(stats).decode()


def partition_text(generator: Any, table: Any, kind: Any, value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(kind, Decimal):
        return format(value, "f")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return generator.java(value)
    if kind.name == "timestamp":
        return wall(generator.local_us(value, table.zone), 6, " ")
    if kind.name == "timestamp_ntz":
        return wall(value, 6, " ")
    return value.isoformat() if isinstance(value, dt.date) else str(value)


def action(draw: Any, generator: Any, table: Any, number: int, tail: bool) -> dict[str, Any]:
    """The add of one file; deleted rows hide behind a deletion vector."""
    live = table.files[number]
    deleted: list[tuple[Any, ...]] = []
    if draw(st.integers(0, 3)) == 0:
        donors = [row for rows in table.files for row in rows]
        partitions = [i for i, column in enumerate(table.columns) if column.partition]
        for row in draw(st.lists(st.sampled_from(donors), max_size=2)):
            mixed = list(row)
            for index in partitions:
                mixed[index] = live[0][index]
            deleted.append(tuple(mixed))
    vector = ("u", "ab^-aqEH.-t@S}K{vb[*k^", 4, 40, len(deleted)) if deleted else (None,) * 5
    path = f"part-{number:05}.parquet"
    identity = None if vector[0] is None else deletion_vector_id("u", vector[1], 4)
    return {
        "version": 1 if tail else 0,
        "ordinal": number,
        "action": "add",
        "key": file_key(path, identity),
        "path": path,
        "partition_values": [
            (column.physical[0], partition_text(generator, table, column.type, live[0][index]))
            for index, column in enumerate(table.columns)
            if column.partition
        ],
        "size": 100,
        "modification_time": 0,
        "deletion_timestamp": None,
        "data_change": True,
        "stats": stats_text(draw, table, [*live, *deleted], tight=not deleted),
        "dv_storage_type": vector[0],
        "dv_path_or_inline": vector[1],
        "dv_offset": vector[2],
        "dv_size": vector[3],
        "dv_cardinality": vector[4],
        "base_row_id": None,
        "default_row_commit_version": None,
    }


def index(draw: Any, generator: Any, table: Any) -> tuple[ManifestReader, Snapshot]:
    """The table's files as manifest objects: some in the base, some in the tail."""
    metadata = Metadata(
        id="m",
        schema_string=json.dumps(schema_json(table.schema)),
        partition_columns=table.partition_columns,
    )
    builder = RowBuilder(metadata)
    in_tail = [draw(st.booleans()) for _ in table.files]
    actions = [action(draw, generator, table, number, tail) for number, tail in enumerate(in_tail)]
    base, tail = (
        pa.RecordBatch.from_pylist([a for a in actions if a["version"] == version], ACTIONS)
        for version in (0, 1)
    )
    store = MemoryStore()
    parts: list[pa.RecordBatch] = []
    with patch.object(write, "BATCH_FILES", draw(st.integers(1, 3))):
        if base.num_rows:
            part = write.encode_part([builder.build(base)], builder.columns)
            store.put(prune_key("t", "b", "p"), part.prune)
            store.put(render_key("t", "b", "p"), part.render)
            parts.append(part.zones)
        store.put(zones_key("t", "b"), write.encode_zones(parts, builder.columns))
        store.put(files_key("t", "s"), write.encode_segment([builder.changes(tail)]))
    totals = Totals(len(table.files), 0, None, 0)
    change = SchemaChange(0, Protocol(1, 2), metadata)
    epoch = Epoch(0, 1, 0, Base("b", ("p",), totals), (Segment("s", 1, 1, tail.num_rows),))
    head = Head("t", "file:///t", 1, 1, totals, (change,), (epoch,), "", 0)
    return ManifestReader(store), Snapshot(head, epoch, 1, 1, change, totals)


@settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_a_file_with_a_matching_live_row_is_selected(generator: Any, data: Any) -> None:
    table = data.draw(generator.tables(), label="table")
    reader, snapshot = index(data.draw, generator, table)
    for _ in range(6):
        condition = data.draw(generator.conditions(table, 2), label="condition")
        matching = {
            f"part-{number:05}.parquet"
            for number, rows in enumerate(table.files)
            if any(condition.evaluate(row, table.zone) is True for row in rows)
        }
        hints = {"sql": SnapshotQuery(predicate_hints=(condition.sql(),))}
        text = condition.json_text(table.zone)
        if text is not None:
            hints["json"] = SnapshotQuery(json_predicate_hints=text)
        for language, query in hints.items():
            predicate, _ = plan_predicate(snapshot, query)
            selection = select(reader, snapshot, predicate, None)
            kept = selected_paths(reader, snapshot, selection)
            assert len(kept) == len(set(kept)) == selection.kept
            lost = matching - set(kept)
            assert not lost, f"{language} lost {lost}: {condition.sql()} | {text} | {table}"
            event(f"{language}: {'pruned' if len(kept) < len(table.files) else 'kept all'}")


def selected_paths(reader: ManifestReader, snapshot: Snapshot, selection: Any) -> list[str]:
    paths: list[str] = []
    for pick in selection.picks:
        [batch] = reader.render_batches("t", snapshot.epoch.base, pick.part, [pick.render])
        rows = batch if pick.rows is None else batch.take(pick.rows)
        paths += rows.column("path").to_pylist()
    for rows in selection.tail:
        paths += rows.column("path").to_pylist()
    return paths
