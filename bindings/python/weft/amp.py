"""weft.amp: autocast and GradScaler, as programs ask for them here too."""
from weft._names.settings import autocast
from weft.cuda import amp as _amp

GradScaler = _amp.GradScaler
__all__ = ["GradScaler", "autocast"]
