"""The store in PostgreSQL. What it guarantees is in docs/scale.md."""
