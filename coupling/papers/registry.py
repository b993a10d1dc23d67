"""The papers, by name."""

from collections.abc import Mapping

from coupling.papers.mishra20 import MISHRA20
from coupling.papers.paper import Paper
from coupling.papers.pollard18 import POLLARD18
from coupling.papers.smith21 import SMITH21
from coupling.papers.stoltzfus13 import STOLTZFUS13
from coupling.papers.yang import YANG

PAPERS: Mapping[str, Paper] = {
    paper.name: paper for paper in (POLLARD18, SMITH21, STOLTZFUS13, MISHRA20, YANG)
}
