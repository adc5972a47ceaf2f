"""weft.zoo: another name of weft.models."""
from weft.models import ZooModel, create, names  # noqa: F401
