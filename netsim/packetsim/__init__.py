"""Packet-level simulation of jobs that compute and communicate."""
