"""Commands that measure; what they share with the tests lies there."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))
