"""The question for a lecture, and its page to project."""
