"""A file that is replaced in one step: whoever reads it sees all of the old or all of the new."""

from __future__ import annotations

import os
from contextlib import suppress
from secrets import token_hex


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Put the bytes in the place of a file, new or not, with the mode that the umask says.

    They are on the disk when this returns. A process that is killed on the way leaves the old file or the
    new one, and perhaps a file `.NAME.….part` beside it. A link is followed.

    Raises:
        OSError: it cannot be written; what was there is as it was.
    """
    folder, name = os.path.split(os.path.realpath(path))
    beside = os.path.join(folder, f".{name}.{token_hex(8)}.part")
    number = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with open(number, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(number)
        os.replace(beside, os.path.join(folder, name))
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise
    _settle(folder)


def _settle(folder: str) -> None:
    """Have the new name on the disk too, where the system knows folders that can be synchronised."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with suppress(OSError):  # the file is whole either way, and some file systems cannot do it
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
