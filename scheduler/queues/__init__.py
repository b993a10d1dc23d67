"""Queue policies: which waiting jobs start now."""
