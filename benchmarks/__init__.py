"""How fast the library is, beside NumPy and torch: `python -m benchmarks [family ...]`.

A family is a module here with `cases(torch)`, a generator of `Case`; `torch` is None where it is
not installed. Arrays are made inside the generator, so that they are gone when the next size
comes."""
