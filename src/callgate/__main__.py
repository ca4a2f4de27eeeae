"""`python -m callgate` and the `callgate` command."""

import gc
import sys


def main() -> int:
    """Run the command line; the exit status is 0, 1 or 2."""
    gc.set_threshold(50_000)  # a start makes some 20,000 objects, and next to none of them is garbage

    from .engine.cli.main import main as run

    status = run(sys.argv[1:])
    gc.freeze()  # the process ends, so that looking through them all once more frees nothing for anybody
    return status


if __name__ == "__main__":
    sys.exit(main())
