"""The one exception tree of Headgate.

    HeadgateError
    ├── SharingError                 answered to a recipient: status, errorCode, public message
    │   ├── InvalidParameter         400 INVALID_PARAMETER_VALUE
    │   ├── MalformedRequest         400 MALFORMED_REQUEST
    │   ├── UnsupportedOperation     400 UNSUPPORTED_OPERATION
    │   ├── Unauthenticated          401 UNAUTHENTICATED
    │   ├── Forbidden                403 FORBIDDEN
    │   ├── ResourceNotFound         404 RESOURCE_DOES_NOT_EXIST
    │   └── ManifestNotReady         503 TEMPORARILY_UNAVAILABLE
    ├── CatalogError                 the catalog is wrong; the message names the place and remedy
    ├── DeltaLogError                a log is invalid or unsupported; names version and cause
    ├── ManifestError                a manifest object is damaged or of an unknown format version
    └── StorageError
        ├── ObjectNotFound
        ├── PreconditionFailed       a conditional write lost
        └── UnsignablePath           a file that this deployment cannot sign URLs for

Anything else that reaches the API is a 500 with an empty message and a logged trace.
Statuses and codes: Delta Sharing protocol, "REST APIs"; the reference server's error bodies.
"""

from typing import ClassVar


class HeadgateError(Exception):
    """Base of every error that Headgate raises on purpose."""


class SharingError(HeadgateError):
    """An error that a recipient sees: its message must hold nothing private."""

    status: ClassVar[int]
    error_code: ClassVar[str]

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        self.message = message


class InvalidParameter(SharingError):
    status = 400
    error_code = "INVALID_PARAMETER_VALUE"


class MalformedRequest(SharingError):
    status = 400
    error_code = "MALFORMED_REQUEST"


class UnsupportedOperation(SharingError):
    status = 400
    error_code = "UNSUPPORTED_OPERATION"


class Unauthenticated(SharingError):
    status = 401
    error_code = "UNAUTHENTICATED"


class Forbidden(SharingError):
    status = 403
    error_code = "FORBIDDEN"


class ResourceNotFound(SharingError):
    status = 404
    error_code = "RESOURCE_DOES_NOT_EXIST"


class ManifestNotReady(SharingError):
    status = 503
    error_code = "TEMPORARILY_UNAVAILABLE"


class CatalogError(HeadgateError):
    """The catalog is not valid; the message names the place in it and what to do."""


class DeltaLogError(HeadgateError):
    """A Delta log that cannot be served: invalid, or using a feature Headgate cannot read.

    `cause` is public (it names no location); `version` is the table version it arose at, if known.
    """

    def __init__(self, cause: str, version: int | None = None) -> None:
        at = "" if version is None else f" at version {version}"
        super().__init__(f"{cause}{at}")
        self.cause = cause
        self.version = version

    def __reduce__(self) -> tuple[type["DeltaLogError"], tuple[str, int | None]]:
        # Executors send their errors to the driver.
        return type(self), (self.cause, self.version)


class ManifestError(HeadgateError):
    """A manifest object that cannot be read."""


class StorageError(HeadgateError):
    """Object storage refused or failed."""


class ObjectNotFound(StorageError):
    """No object has this key."""


class PreconditionFailed(StorageError):
    """A conditional put lost: the object exists, or is no longer the one that was read."""


class UnsignablePath(StorageError):
    """A path in a log leads to storage that the table's signer does not reach."""
