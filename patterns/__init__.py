"""Communication patterns: who talks to whom, over ranks."""
