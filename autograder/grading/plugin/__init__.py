"""Plugins for nbgrader, which a course's nbgrader_config.py enables."""
