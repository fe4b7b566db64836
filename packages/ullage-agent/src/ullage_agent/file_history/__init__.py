"""What the agent's tools did to files, so that it can be undone."""
