"""What the objects of a base hold, and how much of it is overhead."""

import json
import random
import uuid

import pyarrow as pa
import pytest

from headgate.manifest import write
from headgate.manifest.actions import ACTIONS
from headgate.manifest.bounds import FileBounds, ZoneBounds
from headgate.manifest.head import Base, Totals, prune_key, render_key
from headgate.manifest.keys import file_key
from headgate.manifest.read import ManifestReader, Span
from headgate.manifest.rows import ManifestRows, RowBuilder
from headgate.model.actions import Metadata
from tests.manifest.memory_store import MemoryStore

SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in (("id", "long"), ("name", "string"), ("day", "date"), ("bin", "binary"))
    ],
}
METADATA = Metadata("m", json.dumps(SCHEMA), ("day",))


def built(files: int) -> tuple[RowBuilder, ManifestRows]:
    rng = random.Random(7)
    rows = []
    for number in range(files):
        path = (
            f"day=2026-01-{number % 28 + 1:02}/part-{uuid.UUID(int=rng.getrandbits(128))}.parquet"
        )
        low = number * 100
        stats = {
            "numRecords": 100,
            "minValues": {"id": low, "name": f"n{low:09}"},
            "maxValues": {"id": low + 99, "name": f"n{low + 99:09}"},
            "nullCount": {"id": 0, "name": number % 3, "bin": 1},
        }
        rows.append(
            {
                "version": 0,
                "ordinal": number,
                "action": "add",
                "key": file_key(path),
                "path": path,
                "partition_values": [("day", f"2026-01-{number % 28 + 1:02}")],
                "size": 1_000 + number,
                "modification_time": 5,
                "data_change": True,
                "stats": json.dumps(stats),
            }
        )
    builder = RowBuilder(METADATA)
    return builder, builder.build(pa.RecordBatch.from_pylist(rows, ACTIONS))


@pytest.mark.parametrize("batch_files", [1, 7, 100, 2048])
def test_a_part_gives_back_its_rows(batch_files: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "BATCH_FILES", batch_files)
    builder, rows = built(100)
    part = write.encode_part([rows], builder.columns)
    store = MemoryStore()
    store.put(prune_key("t", "b", "p"), part.prune)
    store.put(render_key("t", "b", "p"), part.render)
    reader = ManifestReader(store)
    base = Base("b", ("p",), Totals(100, 0, None, 0))
    zones = part.zones.to_pylist()
    assert sum(zone["files"] for zone in zones) == 100
    for side, read in (("prune", reader.prune_batches), ("render", reader.render_batches)):
        spans = [
            Span(zone[f"{side}_header"], zone[f"{side}_offset"], zone[f"{side}_length"])
            for zone in zones
        ]
        found = pa.Table.from_batches(read("t", base, 0, spans))
        want = getattr(rows, side)
        for name in found.schema.names:
            assert found[name].to_pylist() == want.column(name).to_pylist(), name
        left_out = set(want.schema.names) - set(found.schema.names)
        assert all(want.column(name).null_count == 100 for name in left_out)
        # one batch by itself
        [last] = read("t", base, 0, spans[-1:])
        assert last.num_rows == zones[-1]["files"]


def test_any_arrow_reader_reads_a_part() -> None:
    builder, rows = built(10)
    part = write.encode_part([rows], builder.columns)
    assert pa.ipc.open_file(part.render).read_all()["path"].to_pylist() == (
        rows.render.column("path").to_pylist()
    )


def test_headers_hold_no_data() -> None:
    builder, rows = built(3_000)
    zone = write.encode_part([rows], builder.columns).zones.to_pylist()[0]
    assert zone["prune_header"] < 8_000
    assert zone["render_header"] < 8_000


def test_a_file_takes_few_bytes() -> None:
    """Of which 16 are its key and about 20 the random digits of its name."""
    builder, rows = built(20_000)
    part = write.encode_part([rows], builder.columns)
    assert (len(part.prune) + len(part.render)) / 20_000 < 90


def test_zone_maps_enclose_their_files() -> None:
    builder, rows = built(5_000)
    zones = write.encode_part([rows], builder.columns).zones
    assert zones.num_rows == 3
    files, groups = FileBounds(rows.prune), ZoneBounds(zones)
    for column in builder.columns:
        of_files, of_zones = files.column(column.path), groups.column(column.path)
        assert of_files is not None
        assert of_zones is not None
        for number in range(3):
            part = slice(number * 2048, (number + 1) * 2048)
            if column.arrow_type is not None:
                low = min(of_files.minimum.to_pylist()[part])
                high = max(of_files.maximum.to_pylist()[part])
                assert of_zones.minimum[number].as_py() == low
                assert of_zones.maximum[number].as_py() == high
            assert of_zones.may_be_null[number].as_py() == any(
                of_files.may_be_null.to_pylist()[part]
            )


def test_an_unknown_bound_of_one_file_leaves_its_zone_open() -> None:
    builder, rows = built(3)
    place = rows.prune.schema.get_field_index("max:1")
    cut = rows.prune.set_column(place, "max:1", pa.array([1, None, 3], pa.int64()))
    zones = write.encode_part([ManifestRows(cut, rows.render)], builder.columns).zones
    assert zones.column("max:1").to_pylist() == [None]
    assert zones.column("min:1").to_pylist() == [0]
