"""Allocators that fill the leaves of a tree, some by what the jobs communicate."""
