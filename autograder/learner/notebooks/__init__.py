"""Files of learners' notebooks."""
