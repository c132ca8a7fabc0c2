"""The same for Fashion-MNIST: 5000 pieces of clothing of 28 by 28, where its files are."""
from . import digits


def main(args=None): return digits.main(args, data='fashion')
