"""Expectations on tables: declared as data, evaluated in one aggregate, and logged.

Names and meanings are those of Great Expectations. Micro-batches evaluate them without that library, which
takes long to import; `lakehouse.quality.report` uses it for reports.
"""
