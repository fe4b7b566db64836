"""Sessions on many machines: PostgreSQL, workers, Restate."""
