"""Rules of a course: assignments, deadlines, students."""
