"""The command line. Each module here is one command; `main` and names that begin with `_` are none."""
