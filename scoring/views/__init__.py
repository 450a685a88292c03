"""What can be made of scores once they are there: tables, gates, pictures, answers in words; no log is written."""
