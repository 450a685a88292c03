"""A picture of a log: one page of HTML that needs nothing beside itself, or a few lines on a terminal."""
