"""What command lines of agents do and how test runs ended.

The modules of this package know nothing of transcripts.
"""
