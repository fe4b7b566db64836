"""Three programs, each written with Ullage and with pydantic-ai."""
