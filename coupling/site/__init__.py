"""One moment of a machine: estimate, verify, flows, and from its own files now, what if, place."""
