"""What must be on the machine for some commands, and what to say where it is not."""

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

from headgate.errors import HeadgateError

_MIN_JAVA = 17


class NotInstalled(HeadgateError):
    """Something that a command needs is not here; the message says what to install."""


def require_spark() -> None:
    """Raises NotInstalled where pyspark, or a JDK that it can use, is not installed."""
    if importlib.util.find_spec("pyspark") is None:
        raise NotInstalled("indexing needs Spark: pip install 'headgate[spark]'")
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    remedy = f"install a JDK {_MIN_JAVA} or newer, and set JAVA_HOME if it is not on the PATH"
    if java is None or shutil.which(java) is None:
        raise NotInstalled(f"Spark needs Java, and there is none: {remedy}")
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)  # noqa: S603
    version = re.search(r'version "(\d+)', told.stderr)
    if version is None or int(version[1]) < _MIN_JAVA:
        found = "of an unknown version" if version is None else version[1]
        raise NotInstalled(f"Spark needs Java {_MIN_JAVA}, and {java} is {found}: {remedy}")


def require_package(package: str, extra: str) -> None:
    """Raises NotInstalled where a package of one of Headgate's extras is not installed."""
    if importlib.util.find_spec(package) is None:
        raise NotInstalled(f"this needs {package}: pip install 'headgate[{extra}]'")
