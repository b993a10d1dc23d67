"""Contention models: how jobs that share links slow each other down."""
