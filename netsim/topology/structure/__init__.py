"""What a fabric turns out to be: recognised, inspected, named, as the tree that its wiring is."""
