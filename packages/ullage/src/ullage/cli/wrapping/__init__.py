"""How each client is started so that its calls, and no other program's, go through a proxy of its own."""
