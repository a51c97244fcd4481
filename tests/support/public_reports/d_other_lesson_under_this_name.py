"""The notebook of lesson 03, cut to one cell, handed in under the name of lesson 00."""

import json

LESSON = "00_first_gradient"
NAME = "00_first_gradient.ipynb"


def change(notebook: dict) -> bytes:
    notebook["metadata"]["autograder"] = {
        "lesson": "gradient_accumulation",
        "assignment": "03_gradient_accumulation",
        "language": "en",
    }
    notebook["cells"] = [
        {
            "cell_type": "code",
            "metadata": {
                "nbgrader": {
                    "grade_id": "answer-train_epoch",
                    "solution": True,
                    "grade": False,
                    "locked": False,
                    "schema_version": 3,
                }
            },
            "source": "x = 1",
            "outputs": [],
            "execution_count": None,
        }
    ]
    return json.dumps(notebook).encode()
