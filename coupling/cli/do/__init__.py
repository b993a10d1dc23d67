"""What the commands do, a module for each."""
