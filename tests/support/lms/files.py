"""Files in zip archives, as an LMS packs them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

Files = dict[str, str]


def write_zip(path: Path, files: Mapping[str, str | bytes], time: datetime = datetime(2026, 9, 20, 12)) -> Path:
    """Write a zip archive. All entries have the same time."""
    path.write_bytes(zipped(files, time))
    return path


def zipped(files: Mapping[str, str | bytes], time: datetime = datetime(2026, 9, 20, 12)) -> bytes:
    """Return the bytes of a zip archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, time.timetuple()[:6]), data, zipfile.ZIP_DEFLATED)
    return packed.getvalue()
