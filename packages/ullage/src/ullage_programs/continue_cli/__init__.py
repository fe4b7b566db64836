"""Continue, on the command line and in editors: its log."""
