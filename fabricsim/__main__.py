"""Answer `python -m fabricsim` as the command does."""

from coupling.cli import main

main()
