"""Names of teams, as Moodle writes them into paths of archives.

From Moodle 4.1 `downloader::get_student_prefix` (`mod/assign/classes/downloader.php`) formats a name with
`format_string` (`lib/weblib.php`, from 4.4 `lib/classes/formatting.php`). Older versions do not. Then `clean_filename`
(`lib/moodlelib.php`) removes characters, and the zip library's `filterFilename` replaces some others.
"""

from __future__ import annotations

import re

from ..tables import names

_AMPERSAND = re.compile(r"&(?![a-zA-Z0-9#]{1,8};)")  # `replace_ampersands_not_followed_by_entity`
_TAG = re.compile(r"<(?!\s)[^>]*(?:>|$)")  # PHP's `strip_tags`
_NO_ZIP_NAME = re.compile(r"[?*]")  # of the characters that the zip library replaces, those that Moodle leaves


def name_in_path(text: str) -> str:
    """Return a name from a path in a form for comparisons: an archive may have been unpacked and packed again."""
    return _NO_ZIP_NAME.sub("_", names.file_name(text))


def spellings(team: str) -> frozenset[str]:
    """Return the names that Moodle's versions may write for a team, as `name_in_path` returns them.

    The team `R & D` gives `{"R amp; D", "R D"}`.
    """
    formatted = _TAG.sub("", _AMPERSAND.sub("&amp;", team)).replace("<", "&lt;").replace(">", "&gt;")
    return frozenset(name_in_path(name.replace("_", " ")) for name in (team, formatted))
