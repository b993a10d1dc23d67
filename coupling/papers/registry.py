"""The papers, by name."""

from collections.abc import Mapping

from coupling.papers.paper import Paper
from coupling.papers.smith21 import SMITH21

PAPERS: Mapping[str, Paper] = {paper.name: paper for paper in (SMITH21,)}
