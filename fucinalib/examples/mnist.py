"""The same for MNIST: 5000 handwritten digits of 28 by 28, where its files are."""
from . import digits


def main(args=None): return digits.main(args, data='mnist')
