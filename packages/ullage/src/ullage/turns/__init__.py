"""What of a session is under way: its turn, its open calls, its queue, its grants."""
