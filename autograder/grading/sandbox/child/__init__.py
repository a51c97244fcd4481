"""The side of student code: cells, probes, and detection of tampering."""
