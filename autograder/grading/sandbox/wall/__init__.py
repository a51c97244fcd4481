"""The kernel's walls around students' code: namespaces, or Landlock with seccomp."""
