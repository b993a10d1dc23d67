"""Pictures: `import fabricsim.plot` is the module `coupling.plot`, by the name that users type."""

import sys

from coupling import plot

sys.modules[__name__] = plot
