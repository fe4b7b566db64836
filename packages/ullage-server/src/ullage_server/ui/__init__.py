"""Pages of others: a session's turn in the protocols of the Vercel AI SDK (``useChat``) and of AG-UI."""
