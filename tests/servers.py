"""Servers that tests reach over real sockets: S3 (ministack) and ASGI applications (uvicorn)."""

import contextlib
import dataclasses
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import uvicorn
from botocore.config import Config

from headgate.storage.credentials import Credentials
from headgate.storage.locate import StorageOptions

_START_TIMEOUT_S = 60


@dataclasses.dataclass(frozen=True)
class S3Server:
    """A running S3 that verifies signatures and expiry, and honours conditional puts."""

    endpoint_url: str
    region: str
    credentials: Credentials

    @property
    def options(self) -> StorageOptions:
        return StorageOptions(
            region=self.region,
            endpoint_url=self.endpoint_url,
            credentials=lambda: self.credentials,
        )

    def client(self, service: str = "s3") -> Any:
        make: Any = boto3.client  # overloaded by the literal name of each service
        return make(
            service,
            endpoint_url=self.endpoint_url,
            region_name=self.region,
            aws_access_key_id=self.credentials.access_key_id,
            aws_secret_access_key=self.credentials.secret_access_key,
            aws_session_token=self.credentials.session_token,
            config=Config(s3={"addressing_style": "path"}) if service == "s3" else None,
        )

    def new_bucket(self, name: str) -> str:
        self.client().create_bucket(
            Bucket=name, CreateBucketConfiguration={"LocationConstraint": self.region}
        )
        return name

    def temporary(self) -> "S3Server":
        """The same server reached with temporary credentials, session token included."""
        found = self.client("sts").get_session_token()["Credentials"]
        credentials = Credentials(
            found["AccessKeyId"],
            found["SecretAccessKey"],
            found["SessionToken"],
            int(found["Expiration"].timestamp() * 1000),
        )
        return dataclasses.replace(self, credentials=credentials)


@contextlib.contextmanager
def s3_server_process() -> Iterator[S3Server]:
    """Runs ministack's S3 and STS on a free port; every request must be signed."""
    credentials = Credentials("AKIAHEADGATETESTS", "a secret/of+tests")
    region = "eu-west-3"
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("AWS_")},
            "TMPDIR": folder,
            "GATEWAY_PORT": str(port),
            "BIND_HOST": "127.0.0.1",
            "SERVICES": "s3,sts,iam",
            "AUTH": "true",
            "IOT_MTLS_ENABLED": "0",
            "MINISTACK_REGION": region,
            "AWS_ACCESS_KEY_ID": credentials.access_key_id,
            "AWS_SECRET_ACCESS_KEY": credentials.secret_access_key,
        }
        log = Path(folder) / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "ministack"],
                env=environment,
                cwd=folder,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_for(f"{url}/_ministack/health", process, log)
            yield _as_user(S3Server(url, region, credentials))
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _as_user(root: S3Server) -> S3Server:
    """The server seen by a user who may do all: of root, ministack checks no header signatures."""
    iam = root.client("iam")
    allow_all = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allow_all]})
    iam.create_user(UserName="tests")
    iam.put_user_policy(UserName="tests", PolicyName="all", PolicyDocument=policy)
    key = iam.create_access_key(UserName="tests")["AccessKey"]
    return dataclasses.replace(
        root, credentials=Credentials(key["AccessKeyId"], key["SecretAccessKey"])
    )


@contextlib.contextmanager
def asgi_server(app: Any, port: int | None = None) -> Iterator[str]:
    """Runs an ASGI application under uvicorn in a thread; gives its URL."""
    port = free_port() if port is None else port
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", lifespan="off")
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + _START_TIMEOUT_S
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            raise RuntimeError("uvicorn did not start")
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(timeout=10)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.1)
    raise RuntimeError(f"ministack did not start: {log.read_text(errors='replace')[-2000:]}")
