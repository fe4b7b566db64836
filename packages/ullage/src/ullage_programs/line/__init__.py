"""What the status lines and hooks of all programs share: settings, drawing, and the user's earlier line."""
