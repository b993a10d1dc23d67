"""Allocators whose jobs share no link: TA, LaaS, Jigsaw, LC and LC+S."""
