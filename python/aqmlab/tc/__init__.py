"""Lines of Linux's tc, and what OpenWrt has instead: written for a scheme, and read into one.

One table, `qdiscs.py`, and the names and units that parameters declare serve both ways; what is written is read again
to see what Linux makes of it.
"""

from aqmlab.tc.link import Layer, Link
from aqmlab.tc.syntax import Lines, Reading, Setting, read, write
from aqmlab.tc.tree import Tree, read_tree, write_tree

__all__ = ["Layer", "Lines", "Link", "Reading", "Setting", "Tree", "read", "read_tree", "write", "write_tree"]
