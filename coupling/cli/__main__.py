"""Answer `python -m coupling.cli` as the command does."""

from coupling.cli.root import main

main()
