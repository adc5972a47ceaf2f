// Text for people in messages: printable and of bounded length on both sides of the wire. Text that
// programs write is ASCII; a name that a person gave may be in any script.
//
// Such text reaches logs and terminals and is part of hashed values: therefore the encoder makes it
// printable, the decoder refuses what is not, and each value has one encoding.
// Threads: functions of their arguments.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "weft/wire/codec.h"

namespace weft {

// The first `limit` bytes of `text`, with '?' for every byte that is not printable ASCII.
std::string to_printable(std::string_view text, std::size_t limit);
// A text of at most `limit` printable ASCII characters; anything else fails the reader.
std::string read_printable(Reader& in, std::string_view field, std::size_t limit);

// The characters of `name` that fit into `limit` bytes, with '?' for each that a terminal would
// obey and for each byte that is no UTF-8 (base/printable.h).
std::string to_printable_name(std::string_view name, std::size_t limit);
// A name of at most `limit` bytes in the form of to_printable_name(); anything else fails the
// reader.
std::string read_printable_name(Reader& in, std::string_view field, std::size_t limit);

}  // namespace weft
