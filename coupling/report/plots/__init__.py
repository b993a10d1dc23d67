"""Pictures: how they look, and one module for each subject."""
