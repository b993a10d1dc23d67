"""Exact flow-level simulation of jobs that compute and communicate."""
