"""The command `fucina`: a model answers in the terminal."""


def main(args=None):
    "Run the command; ends the program with its code."
    from .app import run_and_exit
    run_and_exit(args)
