"""Pictures of a learner's own graph: the graph as plain data (`model`), and what is made of it."""
