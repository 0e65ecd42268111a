"""Expectations on tables: declared as data, measured in one pass, judged, and kept.

They are named and meant as Great Expectations has them. What decides in a running job does without that
library, which takes long to import; see `lakehouse.expectations.report` for what it is used for.
"""
