"""Answer `python -m fabricsim` as the command does."""

from coupling.cli.root import main

main()
