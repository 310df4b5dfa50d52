"""`python -m bique`: the same as the command `bique`."""

from bique.cli import main

if __name__ == "__main__":
    main()
