"""Settings come from the environment, and the table in their module documents each of them."""

import re
from dataclasses import fields

import pytest

from headgate import settings
from headgate.settings import InvalidSetting, Settings, normalise_prefix

ROW = re.compile(r"^\| `HEADGATE_(\w+)` \| (?:`([^`]*)`|none) \|", re.MULTILINE)


def test_every_setting_is_documented_with_its_default() -> None:
    documented = {name.lower(): default for name, default in ROW.findall(settings.__doc__ or "")}
    defaults = Settings()
    assert documented == {
        field.name: "" if (value := getattr(defaults, field.name)) is None else str(value)
        for field in fields(Settings)
    }


def test_an_empty_environment_gives_the_defaults() -> None:
    assert Settings.from_env({}) == Settings()
    assert Settings.from_env({"HEADGATE_URL_TTL_S": "", "HEADGATE_CATALOG": ""}) == Settings()


def test_every_variable_is_read() -> None:
    given = Settings.from_env(
        {
            "HEADGATE_CATALOG": "shares",
            "HEADGATE_INDEX_URL": "s3://bucket/index",
            "HEADGATE_ENDPOINT": "https://example.com/delta-sharing",
            "HEADGATE_PREFIX": "sharing/v1/",
            "HEADGATE_TOKEN_SECRET": "s" * 32,
            "HEADGATE_URL_TTL_S": "60",
            "HEADGATE_PAGE_SIZE_LIMIT": "5",
            "HEADGATE_PAGE_TOKEN_TTL_S": "6",
            "HEADGATE_REFRESH_TOKEN_TTL_S": "7",
        }
    )
    assert given == Settings(
        catalog="shares",
        index_url="s3://bucket/index",
        endpoint="https://example.com/delta-sharing",
        prefix="/sharing/v1",
        token_secret=b"s" * 32,
        url_ttl_s=60,
        page_size_limit=5,
        page_token_ttl_s=6,
        refresh_token_ttl_s=7,
    )
    assert "ssss" not in repr(given)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HEADGATE_URL_TTL_S", "0"),
        ("HEADGATE_URL_TTL_S", "-1"),
        ("HEADGATE_URL_TTL_S", "1h"),
        ("HEADGATE_URL_TTL_S", "604801"),
        ("HEADGATE_PAGE_SIZE_LIMIT", "1.5"),
        ("HEADGATE_TOKEN_SECRET", "short"),
    ],
)
def test_a_wrong_value_names_its_variable(variable: str, value: str) -> None:
    with pytest.raises(InvalidSetting, match=variable):
        Settings.from_env({variable: value})


@pytest.mark.parametrize("prefix", ["", "/"])
def test_the_root_is_a_prefix(prefix: str) -> None:
    assert normalise_prefix(prefix) == ""
    assert Settings.from_env({"HEADGATE_PREFIX": prefix}).prefix == ""
