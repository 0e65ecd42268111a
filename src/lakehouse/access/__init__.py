"""Read permissions: roles, tokens and accounts of conf/access.yml. Needs no Spark, DuckDB or deltalake."""
