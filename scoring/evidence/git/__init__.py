"""What git says about a repository.

``starter`` runs git and ``repository`` asks what several modules need. ``history`` answers about
the commits of a log, and ``facts`` defines the answers.
"""
