"""Runs of answers on another device, which may be pretended."""
