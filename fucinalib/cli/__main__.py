"""`python -m fucinalib.cli`, the same as `fucina`."""
from . import main

main()
