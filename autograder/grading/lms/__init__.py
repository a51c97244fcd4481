"""Learning management systems (LMS): what each exports and imports."""
