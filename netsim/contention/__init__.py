"""Contention: how jobs that share links slow each other down; what all models share."""
