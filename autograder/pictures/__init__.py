"""Pictures of a learner's graphs and backward passes, and plots."""
