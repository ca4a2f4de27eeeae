"""A wheel made of a folder of packs: files of data and their entry points, the same bytes for the same files.

It is written with the standard library alone, and nothing in it is run when it is installed or used.
Source: the binary distribution format, and the rules for names and versions, of packaging.python.org.
"""

from __future__ import annotations

import csv
import os
import re
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from io import BytesIO, StringIO

from msgspec import Struct

from .errors import CallgateError
from .loading import Checked, check_rules
from .offered import GROUP
from .packs import Library
from .units import Unit
from .version import VERSION

_DISTRIBUTION = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_PUBLIC = r"(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*))*(?:(?:a|b|rc)(?:0|[1-9][0-9]*))?"
_MORE = r"(?:\.post(?:0|[1-9][0-9]*))?(?:\.dev(?:0|[1-9][0-9]*))?(?:\+[a-z0-9]+(?:\.[a-z0-9]+)*)?"
_VERSION = re.compile(_PUBLIC + _MORE)
_STAGE = re.compile(r"(alpha|beta|a|b|rc)\.?([0-9]+)?")
_YEAR_ONE = (1980, 1, 1, 0, 0, 0)  # of a zip file: a time of its own would make other bytes each day


class WheelError(CallgateError):
    """A folder cannot become a wheel. `faults`: everything that is wrong, each with what to do."""

    def __init__(self, faults: tuple[str, ...]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults

    def __reduce__(self) -> tuple[type[WheelError], tuple[tuple[str, ...]]]:
        return (type(self), (self.faults,))


class Built(Struct, frozen=True):
    """A wheel: the name and the bytes of its file, the packs in it, and how many documents they bring."""

    name: str
    data: bytes
    packs: tuple[str, ...]
    documents: int


class Contents(Struct, frozen=True):
    """The packs of a folder as they were checked, and the bytes of each of their files by its path there."""

    checked: Checked
    packs: tuple[Unit, ...]
    files: Mapping[str, bytes]


def read_folder(folder: str) -> Contents:
    """Compile the packs of a folder and run their tests. What is wrong with them is in `checked`."""
    library = Library([os.path.join(folder, "")])
    checked = check_rules([], packs=library, strict=True)
    root = os.path.realpath(folder)
    files = {}
    for each in checked.files:
        above, name = os.path.split(each.origin.path)
        path = os.path.join(os.path.realpath(above), name)
        if each.origin.source == "file" and path.startswith(os.path.join(root, "")):
            files[os.path.relpath(path, root).replace(os.sep, "/")] = library.files.read(each.origin.path)
    return Contents(checked, checked.compiled.units, files)


def build_wheel(contents: Contents, name: str, version: str | None) -> Built:
    """The wheel of the packs of a folder.

    `name` is that of the distribution; `version` None: that of the packs, if they have one in common.

    Raises:
        WheelError: the name or the version is none that Python packages can have, a file cannot go along, or
            the packs have errors, which are in `checked`.
    """
    names = tuple(sorted(unit.pack.name for unit in contents.packs if unit.pack is not None))
    faults = [*_name_faults(name), *_file_faults(names, contents.files)]
    if version is not None and not _VERSION.fullmatch(version):
        faults.append(f"`{version[:64]}` is no version of a Python package such as `1.2.0` or `1.2.0rc1`")
    if contents.checked.failed:
        faults.append("the packs have errors, so no wheel was made")
    elif version is None:
        versions = {unit.pack.version for unit in contents.packs if unit.pack is not None}
        version = _python_version(versions.pop()) if len(versions) == 1 else None
        if version is None:
            faults.append("the packs have no one version that a Python package can have: give `--version`")
    if faults or version is None:
        raise WheelError(tuple(faults))
    plain = re.sub(r"[-_.]+", "_", name).lower()
    package = f"callgate_pack_{plain}"
    titles = [unit.pack.what for unit in contents.packs if unit.pack is not None]
    what = titles[0] if len(titles) == 1 and titles[0] else f"Rule packs for callgate: {', '.join(names)}"
    information = f"{plain}-{version}.dist-info"
    files = {f"{package}/{path}": data for path, data in contents.files.items()}
    files[f"{package}/__init__.py"] = b'"""Rule packs for callgate: data alone."""\n'
    points = "".join(f"{each} = {package}\n" for each in names)
    files[f"{information}/METADATA"] = _metadata(name, version, what).encode()
    files[f"{information}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: callgate {VERSION}\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    ).encode()
    files[f"{information}/entry_points.txt"] = f"[{GROUP}]\n{points}".encode()
    documents = sum(not path.endswith(".gate") for path in contents.files)
    data = _zipped(files, f"{information}/RECORD")
    return Built(f"{plain}-{version}-py3-none-any.whl", data, names, documents)


def _name_faults(name: str) -> list[str]:
    if not _DISTRIBUTION.fullmatch(name):
        return [f"`{name[:64]}` is no name of a distribution, such as `acme-rules`: give `--name`"]
    if re.sub(r"[-_.]+", "-", name).lower() == "callgate":
        return ["a distribution called `callgate` would replace this program: give another `--name`"]
    return []


def _file_faults(names: tuple[str, ...], files: Mapping[str, bytes]) -> list[str]:
    """Names that an entry point cannot have, and files that would take one another's place somewhere."""
    faults = [
        f"a pack called `{name[:64]}` cannot be installed: letters, digits, `.`, `_` and `-` alone"
        for name in names
        if not _DISTRIBUTION.fullmatch(name)
    ]
    known: dict[str, str] = {"__init__.py": "the package's own"}
    for path in sorted(files):
        other = known.setdefault(path.lower(), path)
        if other != path:
            faults.append(f"`{path[:200]}` has the name of another file ({other[:200]}) on some systems")
        if not path.isprintable() or not _is_text(path):
            faults.append(f"the name of {path[:200]!r} cannot stand in a wheel: rename the file")
    return faults


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _python_version(version: str) -> str | None:
    """A semantic version as Python packages write it: `1.2.0-rc.1` is `1.2.0rc1`. None: they have no such."""
    numbers, _, local = version.partition("+")
    release, dash, stage = numbers.partition("-")
    found = _STAGE.fullmatch(stage)
    if dash and found is None:
        return None
    if found is not None:
        release += {"alpha": "a", "beta": "b"}.get(found[1], found[1]) + str(int(found[2] or 0))
    written = release + (f"+{local.lower().replace('-', '.')}" if local else "")
    return written if _VERSION.fullmatch(written) else None


def _metadata(name: str, version: str, what: str) -> str:
    summary = " ".join("".join(char if char.isprintable() else " " for char in what).split())[:500]
    return f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: {summary}\n"


def _zipped(files: Mapping[str, bytes], record: str) -> bytes:
    """A zip file of these, and a record of their hashes. Not packed: the bytes hang on no library."""
    rows = StringIO()
    writer = csv.writer(rows, lineterminator="\n")
    target = BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(files, key=lambda path: (".dist-info/" in path, path)):
            digest = urlsafe_b64encode(sha256(files[path]).digest()).rstrip(b"=").decode()
            writer.writerow([path, f"sha256={digest}", len(files[path])])
            _put(archive, path, files[path])
        writer.writerow([record, "", ""])
        _put(archive, record, rows.getvalue().encode())
    return target.getvalue()


def _put(archive: zipfile.ZipFile, path: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(path, _YEAR_ONE)
    entry.create_system = 3  # Unix, wherever it is made
    entry.external_attr = 0o100644 << 16
    archive.writestr(entry, data)
