"""Pictures of a learner's own graph, made from its plain-data model."""
