"""How a release is written: atomically, in every format, and read back as written."""
