"""Locations become canonical roots; the environment becomes options and credentials."""

from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest

from headgate.errors import StorageError
from headgate.storage import credentials
from headgate.storage.buckets import LocalBuckets
from headgate.storage.clouds import CloudUrlSigner
from headgate.storage.credentials import (
    Credentials,
    chain_credentials,
    environment_credentials,
    random_credentials,
)
from headgate.storage.endpoint import S3Endpoint
from headgate.storage.local import LocalObjectStore
from headgate.storage.locate import StorageOptions, normalise_location, open_signer, open_store
from headgate.storage.options import LocalEndpoint
from headgate.storage.s3 import S3ObjectStore, s3_endpoint
from headgate.storage.signers import LocalUrlSigner, S3UrlSigner

HERE = Path("/srv/catalog")


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("tables/t", "file:///srv/catalog/tables/t"),
        ("../t/", "file:///srv/t"),
        ("./a//b/.", "file:///srv/catalog/a/b"),
        ("/abs/t/", "file:///abs/t"),
        ("//abs", "file:///abs"),
        ("file:/x", "file:///x"),
        ("file:///x/", "file:///x"),
        ("FILE://localhost/x", "file:///x"),
        ("file:///a b%20#c", "file:///a b%20#c"),
        ("s3://b/p/", "s3://b/p"),
        ("s3a://b/p//q//", "s3://b/p//q"),
        ("S3N://Bucket", "s3://Bucket"),
        ("s3://b/a b%20", "s3://b/a b%20"),
        ("gs://b/p", "gs://b/p"),
        ("abfss://c@acc.dfs.core.windows.net/p/", "abfss://c@acc.dfs.core.windows.net/p"),
        ("dir:with/colon", "file:///srv/catalog/dir:with/colon"),
    ],
)
def test_locations(location: str, expected: str) -> None:
    found = normalise_location(location, HERE)
    assert found == expected
    assert normalise_location(found, Path("/elsewhere")) == expected


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("hdfs://n/p", "s3://"),
        ("https://x/y", "no supported scheme"),
        ("s3://", "bucket"),
        ("s3:///p", "bucket"),
        ("file://host/x", "host"),
        ("  ", "empty"),
    ],
)
def test_locations_that_cannot_be_served(location: str, message: str) -> None:
    with pytest.raises(StorageError, match=message):
        normalise_location(location, HERE)
    with pytest.raises(StorageError):
        open_store(location, StorageOptions(region="eu-west-3"))


def test_schemes_choose_stores_and_signers(tmp_path: Path) -> None:
    local = LocalEndpoint("http://127.0.0.1:1/storage", random_credentials, LocalBuckets())
    options = StorageOptions(region="eu-west-3", local_endpoint=local)
    assert isinstance(open_store(str(tmp_path), options), LocalObjectStore)
    assert open_store(f"file:{tmp_path}", options).url == f"file://{tmp_path}"
    assert isinstance(open_store("s3a://b/p/", options), S3ObjectStore)
    assert open_store("s3a://b/p/", options).url == "s3://b/p"
    assert open_store("s3://b", options).url == "s3://b"
    assert isinstance(open_signer(f"file://{tmp_path}", options), LocalUrlSigner)
    assert isinstance(open_signer("s3://b/p", options), S3UrlSigner)
    with pytest.raises(StorageError, match="local server"):
        open_signer(str(tmp_path), StorageOptions())


def test_azure_signs_through_obstore(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "c2VjcmV0")
    assert open_store("az://box/a b", StorageOptions()).url == "az://box/a b"
    signer = open_signer("az://box/a b", StorageOptions())
    assert isinstance(signer, CloudUrlSigner)
    urls, _ = signer.sign(["p=1/x%20y", "az://box/a%20b/z"], 60)
    assert urls[0].startswith(b"https://account.blob.core.windows.net/box/a%20b/p=1/x%20y?")
    assert urls[1].startswith(b"https://account.blob.core.windows.net/box/a%20b/z?")
    assert b"sig=" in urls[0]
    with pytest.raises(StorageError, match="outside"):
        signer.sign(["az://other/z"], 60)


def test_options_come_from_the_environment() -> None:
    assert StorageOptions.from_env({}) == StorageOptions()
    options = StorageOptions.from_env(
        {
            "AWS_DEFAULT_REGION": "eu-west-1",
            "AWS_REGION": "eu-west-3",
            "AWS_ENDPOINT_URL": "http://all",
            "AWS_ENDPOINT_URL_S3": "http://s3",
            "HEADGATE_S3_PATH_STYLE": "False",
        }
    )
    assert options == StorageOptions("eu-west-3", "http://s3", False)
    assert s3_endpoint(options) == S3Endpoint("eu-west-3", "http://s3", False)
    fallback = {"AWS_DEFAULT_REGION": "eu-west-1", "AWS_ENDPOINT_URL": "http://all"}
    assert StorageOptions.from_env(fallback) == StorageOptions("eu-west-1", "http://all")
    with pytest.raises(StorageError, match="HEADGATE_S3_PATH_STYLE"):
        StorageOptions.from_env({"HEADGATE_S3_PATH_STYLE": "maybe"})


def test_the_environments_credentials() -> None:
    keys = {"AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "S"}
    assert environment_credentials(keys) == Credentials("A", "S")
    assert environment_credentials({"AWS_ACCESS_KEY_ID": "A"}) is None
    expiry = {"AWS_SESSION_TOKEN": "T", "AWS_CREDENTIAL_EXPIRATION": "2023-11-14T22:13:20Z"}
    assert environment_credentials({**keys, **expiry}) == Credentials(
        "A", "S", "T", 1_700_000_000_000
    )
    naive = {**keys, "AWS_CREDENTIAL_EXPIRATION": "2023-11-14T22:13:20"}
    assert environment_credentials(naive) == Credentials("A", "S", None, 1_700_000_000_000)
    with pytest.raises(StorageError, match="AWS_CREDENTIAL_EXPIRATION"):
        environment_credentials({**keys, "AWS_CREDENTIAL_EXPIRATION": "soon"})


@pytest.fixture
def no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """No AWS configuration but the files whose folder this gives."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    credentials._boto_session.cache_clear()
    yield tmp_path
    credentials._boto_session.cache_clear()


def test_the_chain_goes_on_to_profiles(no_environment: Path) -> None:
    (no_environment / "credentials").write_text(
        "[default]\naws_access_key_id = A\naws_secret_access_key = S\naws_session_token = T\n"
    )
    (no_environment / "config").write_text("[default]\nregion = eu-north-1\n")
    assert chain_credentials() == Credentials("A", "S", "T")
    assert s3_endpoint(StorageOptions()).region == "eu-north-1"


def test_credentials_that_refresh_tell_their_end(no_environment: Path) -> None:
    helper = no_environment / "helper.sh"
    helper.write_text(
        "echo '"
        '{"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "S", "SessionToken": "T",'
        ' "Expiration": "2999-01-01T00:00:00Z"}'
        "'\n"
    )
    (no_environment / "config").write_text(f"[default]\ncredential_process = sh {helper}\n")
    assert chain_credentials() == Credentials("A", "S", "T", 32_472_144_000_000)


def test_a_chain_without_credentials_says_so(no_environment: Path) -> None:
    with pytest.raises(StorageError, match="no AWS credentials"):
        chain_credentials()
    store = open_store("s3://b", StorageOptions(region="eu-west-3", endpoint_url="http://x"))
    with pytest.raises(StorageError, match="no AWS credentials"):
        store.get("k")


def test_secrets_are_not_printed() -> None:
    assert "S3CRET" not in repr(Credentials("A", "S3CRET", "S3CRET"))
    assert random_credentials() != random_credentials()
