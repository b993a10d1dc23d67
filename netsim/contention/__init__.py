"""Contention models: how jobs that share links slow each other down."""

from netsim.contention.base import ContentionModel, Traffic
from netsim.contention.registry import CONTENTION_MODELS, make_contention_model

__all__ = ["CONTENTION_MODELS", "ContentionModel", "Traffic", "make_contention_model"]
