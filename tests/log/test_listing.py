import uuid
from pathlib import Path

import pytest

from headgate.errors import DeltaLogError
from headgate.log.listing import CheckpointKind, list_log, parse_listing
from headgate.storage.base import ObjectInfo
from tests.log.builders import Log

UUID = str(uuid.UUID(int=7))


def info(name: str, size: int = 10) -> ObjectInfo:
    return ObjectInfo(f"_delta_log/{name}", size, 1)


def name(version: int, rest: str) -> str:
    return f"{version:020}.{rest}"


def part(version: int, number: int, count: int) -> str:
    return name(version, f"checkpoint.{number:010}.{count:010}.parquet")


def test_every_form_of_name() -> None:
    listing = parse_listing(
        [
            info(name(3, "json")),
            info(name(3, "checkpoint.parquet")),
            info(part(4, 2, 2)),
            info(part(4, 1, 2)),
            info(name(5, f"checkpoint.{UUID}.json")),
            info(name(6, f"checkpoint.{UUID}.parquet")),
            info(f"{3:020}.{6:020}.compacted.json"),
        ]
    )
    assert list(listing.commits) == [3]
    assert [(c.version, c.kind, len(c.files)) for c in listing.checkpoints] == [
        (3, CheckpointKind.CLASSIC, 1),
        (4, CheckpointKind.MULTI_PART, 2),
        (5, CheckpointKind.V2_JSON, 1),
        (6, CheckpointKind.V2_PARQUET, 1),
    ]
    assert [file.key[-29:-19] for file in listing.checkpoints[1].files] == [
        "0000000001",
        "0000000002",
    ]
    assert [(c.start, c.end) for c in listing.compactions] == [(3, 6)]
    assert listing.latest_version == 6


@pytest.mark.parametrize(
    "other",
    [
        "_last_checkpoint",
        name(1, "crc"),
        "." + name(1, "json.crc"),
        name(1, "json.tmp"),
        "1.json",
        name(1, f"{UUID}.json"),
        name(1, "checkpoint.parquet.tmp"),
        f"_staged_commits/{name(1, UUID + '.json')}",
        f"_sidecars/{UUID}.parquet",
        name(1, f"checkpoint.{1:010}.parquet.json"),
        f"{3:020}.{3:020}.compacted.json",  # a range must be longer than one version
    ],
)
def test_other_names_are_passed_over(other: str) -> None:
    listing = parse_listing([info(name(0, "json")), info(other)])
    assert list(listing.commits) == [0]
    assert listing.checkpoints == ()
    assert listing.compactions == ()


def test_multi_part_checkpoints_need_every_part_of_one_count() -> None:
    parts = [part(2, 1, 3), part(2, 3, 3), part(2, 2, 2)]
    assert parse_listing(map(info, parts)).checkpoints == ()
    (checkpoint,) = parse_listing(map(info, [*parts, part(2, 2, 3)])).checkpoints
    assert len(checkpoint.files) == 3


def test_an_empty_checkpoint_is_none_and_an_empty_commit_is_one() -> None:
    listing = parse_listing(
        [
            info(name(0, "json"), 0),
            info(name(0, "checkpoint.parquet"), 0),
            info(name(0, f"checkpoint.{UUID}.json"), 0),
            info(part(0, 1, 1), 0),
        ]
    )
    assert list(listing.commits) == [0]
    assert listing.checkpoints == ()


def test_of_one_version_whole_files_come_first_whatever_the_listing_order() -> None:
    names = [
        part(1, 1, 1),
        name(1, "checkpoint.parquet"),
        name(1, f"checkpoint.{UUID}.json"),
        name(1, f"checkpoint.{UUID}.parquet"),
    ]
    for order in (names, names[::-1]):
        kinds = [checkpoint.kind for checkpoint in parse_listing(map(info, order)).checkpoints]
        assert kinds == [
            CheckpointKind.V2_PARQUET,
            CheckpointKind.V2_JSON,
            CheckpointKind.CLASSIC,
            CheckpointKind.MULTI_PART,
        ]


def test_listing_after_a_version_gives_only_what_is_newer(log: Log) -> None:
    for version in range(4):
        log.write(name(version, "json"), b"{}")
        log.write(name(version, "checkpoint.parquet"), b"x")
    log.write("_last_checkpoint", b"{}")
    log.write(f"_sidecars/{name(9, 'json')}", b"{}")
    listing = list_log(log.store, after_version=1)
    assert list(listing.commits) == [2, 3]
    assert [checkpoint.version for checkpoint in listing.checkpoints] == [2, 3]
    assert list(list_log(log.store).commits) == [0, 1, 2, 3]


def test_no_log_is_not_a_delta_table(log: Log, tmp_path: Path) -> None:
    log.write("_last_checkpoint", b"{}")
    with pytest.raises(DeltaLogError, match="not a Delta table"):
        _ = list_log(log.store).latest_version
