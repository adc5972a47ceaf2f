"""Pillow, which is imported where the first image needs it."""
import importlib
from typing import Any


def module(name: str, purpose: str) -> Any:
    """The module PIL.NAME; `purpose` ends the error where Pillow is not installed."""
    try:
        return importlib.import_module(f"PIL.{name}")
    except ImportError:
        raise ModuleNotFoundError(
            f"[vision] {purpose} needs Pillow: pip install pillow, or apt-get install python3-pil",
            name="PIL") from None
