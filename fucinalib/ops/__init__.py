"""The operation library, one module per family. Importing it fills the registry."""
from . import pointwise
