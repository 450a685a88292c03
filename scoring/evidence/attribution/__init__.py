"""Which lines of sessions belong to which iteration: sessions, cuts, work trees, checkpoints."""
