"""The types of frames of the wire protocol, read from the header that numbers them."""
import pathlib
import re

HEADER = pathlib.Path(__file__).resolve().parents[2] / "src/weft/wire/frame_type.h"
# Ends of ranges, no types.
RANGE_END = re.compile(r"k(First|Last)\w+Type")


def frame_types():
    """The names of all types, as the header writes them."""
    names = re.findall(r"constexpr std::uint8_t (k\w+) = 0x[0-9a-f]{2};",
                       HEADER.read_text(encoding="utf-8"))
    return [name for name in names if not RANGE_END.fullmatch(name)]
