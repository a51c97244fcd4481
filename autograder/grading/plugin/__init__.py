"""Parts that a course's nbgrader_config.py plugs into nbgrader."""
