"""`python -m indistinct` is the command line."""

from indistinct.cli import main

if __name__ == "__main__":
    main()
