"""Index of the explained errors for the page of search."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ...explained.entry import Explanation
from ...lessons.summary import readable
from .pages import page_name
from .runs import ErrorRun
from .titles import titles_of

NAME = "torch-errors.json"


def errors_index(explanations: Sequence[Explanation], runs: Mapping[str, ErrorRun], language: str) -> str:
    """Return the explained errors of a site in one language as JSON: a list of objects, in the order of the table.

    `pattern` is a regular expression of JavaScript with the flag "s", `text` the message as torch words it, `page` the
    file of the error's page, `title` and `about` its title and its cause.
    """
    titles = titles_of(explanations, runs, language)
    return json.dumps(
        [
            {
                "pattern": each.pattern.pattern.replace("(?P<", "(?<").removeprefix("(?s)"),
                "text": runs[each.name].text if each.name in runs else each.met or readable(each.pattern.pattern),
                "page": f"{page_name(each)}.html",
                "title": titles[each.name],
                "about": each.says.read(language).replace("`", ""),
            }
            for each in explanations
        ],
        ensure_ascii=False,
    )
