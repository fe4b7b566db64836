"""HTTP: sessions, what happens in them as server-sent events, and the page, over the runtime that every face uses."""
