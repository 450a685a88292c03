"""The exact reading of the reference, apart from all other reading."""
