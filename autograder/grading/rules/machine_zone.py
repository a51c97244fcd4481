"""The time zone of this machine."""

from __future__ import annotations

import os
from pathlib import Path

_LOCAL = Path("/etc/localtime")  # a link into the database of time zones
_EXAMPLE = "Europe/Moscow"


def machine_zone() -> str:
    """Return the name of this machine's time zone, such as "Asia/Tokyo".

    Returns "Europe/Moscow", as an example, if the zone is UTC or unknown.
    """
    _, _, name = str(_LOCAL.resolve()).partition("zoneinfo/")
    name = os.environ.get("TZ", "").removeprefix(":") or name
    return name if "/" in name and not name.startswith(("/", "Etc/")) else _EXAMPLE
