"""A re-export of `configure`, for every course's nbgrader_config.py."""

from .plugin.config import configure as configure
