"""`python -m callgate` and the `callgate` command."""

import sys


def main() -> int:
    """Run the command line; the exit status is 0, 1 or 2."""
    from .engine.cli.main import main as run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
