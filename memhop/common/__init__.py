"""What every layer may use: the error tree, ids, the clock, and the limits. Imports nothing of ours."""
