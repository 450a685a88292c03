"""What git says: ``repository`` starts it, two histories answer about a log's commits, ``facts`` is what they say."""
