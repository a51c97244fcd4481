"""CSV files of students and of learning management systems (LMS)."""
