"""A key of the table of predictions typed with a Cyrillic letter that looks like x."""

import json

LESSON = "00_first_gradient"
NAME = "00_first_gradient.ipynb"


def change(notebook: dict) -> bytes:
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "answer-predict_chain":
            cell["source"] = "".join(cell["source"]).replace("x.grad", "\u0445.grad")
    return json.dumps(notebook).encode()
