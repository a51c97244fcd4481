"""Modules that probes of several lessons share."""
