"""The settings of an example from the words of a command line."""
from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser

__all__ = ['settings']


def settings(name,      # of the example
             doc,       # what it shows
             args,      # words of a command line; None: those of the process
             **known,   # setting -> (value it has otherwise, what it means); or its choices in front of both
            ):
    "An object with a value for each setting."
    parser = ArgumentParser(f'python -m fucinalib.examples {name}', description=doc,
                            formatter_class=ArgumentDefaultsHelpFormatter)
    for setting, (*choices, value, said) in known.items():
        if isinstance(value, bool): parser.add_argument(f'--{setting}', action='store_true', help=said)
        else: parser.add_argument(f'--{setting}', type=type(value), default=value, help=said,
                                  choices=choices[0] if choices else None)
    return parser.parse_args(args)
