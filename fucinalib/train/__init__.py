"""Training: checkpoints, the loop with what belongs to it, and models that train themselves."""
from .checkpoints import Checkpoint, load_weights, read_checkpoint, restore_checkpoint, save_checkpoint, save_weights
