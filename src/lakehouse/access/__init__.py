"""Who may read what: roles, tokens and accounts of conf/access.yml. Without Spark, DuckDB or deltalake."""
