"""The course as a static site."""
