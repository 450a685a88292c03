"""Something done to one log or many, which may be interrupted and repeated."""
