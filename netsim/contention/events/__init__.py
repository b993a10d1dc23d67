"""The event model `fast`: the fixed point kept up to date as jobs come and go."""
