"""Names for the array types that the package passes around."""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints32 = NDArray[np.int32]
Bits = NDArray[np.uint64]
