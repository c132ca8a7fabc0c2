"""One colour for each axis name, the same in messages, numbers and pictures, on the page and in a terminal."""
import zlib

__all__ = ['PALETTE', 'tag_color', 'in_terminal']

# Twelve hues of one luminance, 0.19: as far from white as from #111.
PALETTE = '#c6516a #c6563a #b86301 #997301 #757f03 #36892f #088968 #0b868b #0481b3 #4776d2 #8567cb #b357a1'.split()
SALT = '868'        # sets names that often meet (row col, batch seq d head, in out) far apart


def tag_color(tag):
    "The CSS colour of an axis name, the same wherever the name appears."
    return PALETTE[zlib.crc32((SALT + tag).encode()) % len(PALETTE)]

def in_terminal(tag):
    "A tag in its colour, for a terminal or the text of a notebook."
    r, g, b = bytes.fromhex(tag_color(tag)[1:])
    return f'\x1b[1;38;2;{r};{g};{b}m{tag}\x1b[0m'
