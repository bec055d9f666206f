"""`headgate recipient`: the profile works, the catalog holds the hash, tokens come and go."""

import json
import time
from pathlib import Path

import delta_sharing
import pytest
from typer.testing import CliRunner

from headgate.catalog.loader import load_catalog
from headgate.cli.main import app
from headgate.errors import Unauthenticated
from headgate.model.sharing import Recipient

DAY_MS = 86_400_000


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "catalog").mkdir()
    (tmp_path / "catalog" / "shares.yaml").write_text("shares: [{name: Sales}, {name: ops}]")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEADGATE_CATALOG", raising=False)
    monkeypatch.delenv("HEADGATE_ENDPOINT", raising=False)
    return tmp_path


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["recipient", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def fails(*arguments: str) -> str:
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    result = CliRunner().invoke(app, ["recipient", *arguments])
    assert result.exit_code == 1
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before
    return result.output


def profile(path: str = "acme.share") -> dict:
    return json.loads(Path(path).read_text())


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def whose(secret: str, at_ms: int | None = None) -> Recipient:
    return load_catalog(Path("catalog")).authenticate(secret, at_ms or now_ms())


def test_add(folder: Path) -> None:
    output = run(
        "add", "acme", "--shares", "sales,ops", "--expires", "90d", "--comment", "a contract",
        "--endpoint", "https://example.com/delta-sharing/",
    )  # fmt: skip
    written = profile()
    assert set(written) == {"shareCredentialsVersion", "endpoint", "bearerToken", "expirationTime"}
    assert written["shareCredentialsVersion"] == 1
    assert written["endpoint"] == "https://example.com/delta-sharing"
    secret = written["bearerToken"]
    recipient = whose(secret)
    assert (recipient.name, recipient.shares, recipient.comment) == (
        "acme",
        {"sales", "ops"},
        "a contract",
    )
    (token,) = recipient.tokens
    assert token.expires_at_ms is not None
    assert abs(token.expires_at_ms - now_ms() - 90 * DAY_MS) < 60_000
    assert Path("acme.share").stat().st_mode & 0o777 == 0o600
    assert secret not in output
    assert not any(secret in path.read_text() for path in Path("catalog").rglob("*.yaml"))
    # The client that recipients use reads the profile.
    read = delta_sharing.protocol.DeltaSharingProfile.read_from_file(str(folder / "acme.share"))
    assert (read.bearer_token, read.expiration_time) == (secret, written["expirationTime"])


def test_add_for_ever_and_for_every_share() -> None:
    output = run("add", "acme", "--shares", "*", "--expires", "never", "--show-token",
                 "--profile", "out/p.json")  # fmt: skip
    written = profile("out/p.json")
    assert "expirationTime" not in written
    assert written["endpoint"] == "http://localhost:8080/delta-sharing"
    assert written["bearerToken"] in output
    recipient = whose(written["bearerToken"], 10**14)
    assert recipient.shares is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a/b", "--shares", "ops"], "must be 1 to 64 letters"),
        (["../x", "--shares", "ops"], "must be 1 to 64 letters"),
        (["new", "--shares", "nope,ops"], "no share named 'nope': the catalog has Sales, ops"),
        (["new", "--shares", ","], "no share is named"),
        (["new", "--shares", "ops", "--expires", "soon"], "--expires: 'soon' is not a duration"),
        (["new", "--shares", "ops", "--expires", "2020-01-01"], "not in the future"),
        (["new", "--shares", "ops", "--expires", "0d"], "not in the future"),
        (["new", "--shares", "ops", "--endpoint", "example.com"], "is not a URL"),
        (["acme", "--shares", "ops"], "headgate recipient rotate"),
        (["ACME", "--shares", "ops"], "there is a recipient named"),
        (["new", "--shares", "ops", "--profile", "acme.share"], "with --profile, or replace"),
    ],
)
def test_add_refuses_and_writes_nothing(arguments: list[str], message: str) -> None:
    run("add", "acme", "--shares", "ops")
    assert message in " ".join(fails("add", *arguments).split())


def test_add_needs_a_folder() -> None:
    assert "put it into a folder" in " ".join(
        fails("add", "new", "--shares", "ops", "--catalog", "catalog/shares.yaml").split()
    )


def test_rotate_lets_tokens_overlap() -> None:
    run("add", "acme", "--shares", "ops", "--endpoint", "https://example.com/x")
    old = profile()["bearerToken"]
    assert "acme.share exists" in fails("rotate", "acme")
    run("rotate", "ACME", "--overlap", "7d", "--force")
    new = profile()["bearerToken"]
    assert new != old
    assert profile()["endpoint"] == "https://example.com/x"
    assert Path("acme.share").stat().st_mode & 0o777 == 0o600
    assert whose(old).name == whose(new).name == "acme"
    after_ms = now_ms() + 7 * DAY_MS
    assert whose(new, after_ms).name == "acme"
    with pytest.raises(Unauthenticated, match="expired"):
        whose(old, after_ms)


def test_rotate_without_overlap_ends_the_old_token() -> None:
    run("add", "acme", "--shares", "ops")
    old = profile()["bearerToken"]
    run("rotate", "acme", "--overlap", "0d", "--force")
    with pytest.raises(Unauthenticated):
        whose(old)
    assert "--overlap: 'long'" in fails("rotate", "acme", "--overlap", "long", "--force")


def test_revoke_one_token_of_two() -> None:
    run("add", "acme", "--shares", "ops")
    old = profile()["bearerToken"]
    run("rotate", "acme", "--force")
    first, _ = whose(old).tokens
    assert "names no token" in fails("revoke", "acme", "--token", "zzzz")
    assert "at least 4 digits" in fails("revoke", "acme", "--token", first.sha256[:3])
    output = run("revoke", "acme", "--token", first.sha256[:12].upper())
    assert "revoked 1 token of 'acme'; 1 left" in output
    with pytest.raises(Unauthenticated):
        whose(old)
    assert whose(profile()["bearerToken"]).name == "acme"


def test_revoke_all_and_begin_again() -> None:
    run("add", "acme", "--shares", "ops")
    secret = profile()["bearerToken"]
    run("revoke", "acme")
    with pytest.raises(Unauthenticated):
        whose(secret)
    run("rotate", "acme", "--force")
    assert whose(profile()["bearerToken"]).shares == {"ops"}


@pytest.mark.parametrize("command", ["rotate", "revoke"])
def test_what_is_written_by_hand_is_left_alone(command: str) -> None:
    Path("catalog/people.yaml").write_text("recipients: [{name: hand, shares: []}] # mine")
    assert "is written by hand" in fails(command, "hand")
    assert "there is no recipient named 'gone'" in fails(command, "gone")


def test_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    run("add", "acme", "--shares", "ops,sales", "--expires", "2100-01-01")
    Path("catalog/people.yaml").write_text(
        "recipients:\n"
        "  - {name: none, shares: []}\n"
        f"  - {{name: past, shares: '*', tokens: [{{sha256: {'a' * 64}, expires: 2020-01-01}}]}}\n"
        "  - {name: later, shares: [],"
        f" tokens: [{{sha256: {'b' * 64}, notBefore: 2100-01-01}}]}}\n"
        f"  - {{name: ever, shares: [], tokens: [{{sha256: {'c' * 64}}}]}}\n"
    )
    rows = {line.split()[0]: " ".join(line.split()) for line in run("list").splitlines() if line}
    assert rows["acme"].startswith("acme ops, sales ")
    assert rows["acme"].endswith("until 2100-01-01T00:00:00Z")
    assert rows["none"] == "none none none"
    assert rows["past"] == "past all aaaaaaaaaaaa expired 2020-01-01T00:00:00Z"
    assert rows["later"] == "later none bbbbbbbbbbbb from 2100-01-01T00:00:00Z"
    assert rows["ever"] == "ever none cccccccccccc no expiry"
