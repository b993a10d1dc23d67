"""What every part that is chosen by name promises, as rules that can be checked."""
