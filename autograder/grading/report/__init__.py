"""One page on what a class understood, from what grading left."""
