"""The command `fabricsim`, also as `python -m fabricsim`: checks whose packages these are first."""

import sys

from fabricsim.checking.siblings import check_siblings


def main() -> None:
    """Run the command; where a package is not ours, one line on stderr and exit status 2."""
    try:
        check_siblings()
    except ImportError as error:
        sys.exit(_print_refusal(error))
    from coupling.cli.root import main as command  # noqa: PLC0415 (it may be another's)

    command()


def _print_refusal(error: ImportError) -> int:
    """Say what is wrong and return the exit status for bad input."""
    sys.stderr.write(f"fabricsim: {error}\n")
    return 2


if __name__ == "__main__":
    main()
