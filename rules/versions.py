"""Semantic versions of packs and of callgate itself."""

from __future__ import annotations

import re

from semantic_version import SimpleSpec, Version

_MENTIONED = re.compile(r"[0-9]+(?:\.[0-9]+){0,2}")


def check_version(text: str) -> None:
    """Raises ValueError unless `text` is a whole semantic version such as `1.2.0`."""
    try:
        Version(text)
    except ValueError:
        raise ValueError(f"`{text[:40]}` is no semantic version such as `1.2.0`") from None


def check_spec(text: str) -> None:
    """Raises ValueError unless `text` is a version range such as `>=1.0,<2` or `^1.2`."""
    try:
        SimpleSpec(text)
    except ValueError:
        raise ValueError(f"`{text[:40]}` is no version range such as `>=1.0,<2` or `^1.2`") from None


def admits(spec: str, version: str) -> bool:
    """Is the version in the range? Raises ValueError for a text that is neither."""
    return bool(SimpleSpec(spec).match(Version(version)))


def admits_newer(spec: str, version: str) -> bool:
    """Is any version after `version` in the range? Raises ValueError for a text that is neither.

    A range has its ends at, or one step from, the versions that it mentions: trying these and one beyond
    all of them decides it.
    """
    range_, here = SimpleSpec(spec), Version(version)
    mentioned = [Version.coerce(text) for text in _MENTIONED.findall(spec)]
    steps = [
        later for at in [here, *mentioned] for later in (at.next_patch(), at.next_minor(), at.next_major())
    ]
    beyond = Version(major=max(at.major for at in steps) + 1, minor=0, patch=0)
    return any(at > here and range_.match(at) for at in [*mentioned, *steps, beyond])
