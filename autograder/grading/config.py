"""The function `configure`, imported by every course's nbgrader_config.py."""

from .plugin.config import configure as configure
