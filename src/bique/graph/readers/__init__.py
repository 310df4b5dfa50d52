"""Readers: a file of facts becomes blocks, and a block becomes three columns of names and the lines that are bad.

`options` and `files` need the standard library only; the modules that read need polars, so nothing is imported here.
"""
