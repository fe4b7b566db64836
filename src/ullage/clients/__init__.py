"""The limits of other programs: which window they use, and where they compact. One file of facts for each program.

A log is read for people who use the program that wrote it, so its limits count, and not those of this package. Every
limit carries its source: set by the user, named or shown by the log, or the program's default.
"""
