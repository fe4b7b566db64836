"""What is known of providers and of their models."""
