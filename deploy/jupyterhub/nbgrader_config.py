"""nbgrader's settings for everybody on the hub. An instructor's own are in the course folder and go over these."""

import os

c = get_config()  # noqa: F821

c.Exchange.root = "/srv/nbgrader/exchange"

# A student sees the release in the language that was chosen when the server started.
c.CourseDirectory.course_id = {"ru": "autograd-ru"}.get(os.environ.get("AUTOGRADER_LANGUAGE", "en"), "autograd")
