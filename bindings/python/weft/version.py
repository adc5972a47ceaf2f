"""weft.version: what this build is."""
from weft import __version__  # noqa: F401

cuda = None
hip = None
debug = False
