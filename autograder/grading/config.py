"""The function `configure`, imported by every course's nbgrader_config.py."""

from .plugin.nbgrader_settings import configure as configure
