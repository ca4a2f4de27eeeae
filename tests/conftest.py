"""Hypothesis profiles: `ci` (the default: bounded, the same examples in every run) and `long`.

`long` searches with new examples: `pytest --hypothesis-profile long`, or CALLGATE_HYPOTHESIS=long.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_SLOW = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)

settings.register_profile(
    "ci", max_examples=100, deadline=None, derandomize=True, database=None, suppress_health_check=_SLOW
)
settings.register_profile("long", max_examples=10_000, deadline=None, suppress_health_check=_SLOW)
# No test reads or writes what the user's own runs kept; `test_kept_rules` has a folder of its own.
os.environ["CALLGATE_CACHE"] = "off"

settings.load_profile(os.environ.get("CALLGATE_HYPOTHESIS", "ci"))
