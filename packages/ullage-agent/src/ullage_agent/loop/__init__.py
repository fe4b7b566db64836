"""The loop as two pure functions: ``apply`` folds events into a state, ``decide`` says what comes next."""
