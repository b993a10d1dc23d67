"""A machine as its own files tell it: who runs where, and what a change would do."""
