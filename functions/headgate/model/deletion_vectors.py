"""Where a deletion vector lies.

Source: Delta protocol, "Deletion Vector Descriptor Schema".
"""

import base64
import uuid

from headgate.errors import DeltaLogError

_Z85 = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_RFC1924 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_TO_RFC1924 = bytes.maketrans(_Z85, _RFC1924)
_ENCODED_UUID_LENGTH = 20


def relative_path(path_or_inline: str) -> str:
    """The path below the table's root of a vector of storage type `u`.

    `path_or_inline` is an optional directory and a UUID in Z85. Raises DeltaLogError where it is
    neither.
    """
    prefix, encoded = (
        path_or_inline[:-_ENCODED_UUID_LENGTH],
        path_or_inline[-_ENCODED_UUID_LENGTH:],
    )
    try:
        name = uuid.UUID(bytes=base64.b85decode(encoded.encode().translate(_TO_RFC1924)))
    except ValueError as error:
        raise DeltaLogError("a deletion vector's path is not valid") from error
    return f"{prefix}/deletion_vector_{name}.bin" if prefix else f"deletion_vector_{name}.bin"
