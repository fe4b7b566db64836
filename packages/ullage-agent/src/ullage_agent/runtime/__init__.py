"""The only room where a decision is carried out: agents, sessions, and the driver that performs their steps."""
