"""PyTorch's name for the module of the loader, from which programs import functions of batches."""
from weft.utils.data.collate import default_collate, default_convert  # noqa: F401
from weft.utils.data.loader import DataLoader  # noqa: F401
from weft.utils.data.worker_info import get_worker_info  # noqa: F401
