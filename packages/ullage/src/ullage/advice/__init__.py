"""What filled a session's window, call by call, and what a person can do about it."""
