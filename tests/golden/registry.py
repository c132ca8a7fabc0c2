"""What follows from the registry alone: an operation that names its double in torch is compared
with it on its own samples."""
from parity import mirrored

CASES = mirrored()
