"""`python -m fucinalib.examples NAME [settings]` runs an example, without a name it lists them."""
import os, sys
from ..errors import FucinaError
from . import listed, run


def main(argv):
    "The list, or one example; the exit status."
    if not argv or argv[0] in ('-h', '--help'):
        print('python -m fucinalib.examples NAME [settings]; NAME --help tells its settings\n')
        wide = max(map(len, listed()))
        for name, said in listed().items(): print(f'  {name:<{wide}}  {said}')
        return 0
    try: run(*argv)
    except FucinaError as e: print(e, file=sys.stderr); return 2
    except KeyboardInterrupt: return 130
    except BrokenPipeError: os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())     # `| head` has enough
    return 0


if __name__ == '__main__': sys.exit(main(sys.argv[1:]))
