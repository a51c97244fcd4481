"""Servers for learners: settings of JupyterLab, a JupyterHub user's server."""
