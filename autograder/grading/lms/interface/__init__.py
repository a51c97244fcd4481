"""The common parts of all learning management systems (LMS): senders, tables."""
