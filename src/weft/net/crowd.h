// Which of many waiting entries to drop when there are too many: the oldest one from the address
// that has the most of them.
//
// One address, however many keys it has, thus displaces only its own entries; an empty origin
// counts as one address.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace weft {

// Returns the entry to drop, or the end of `entries` if there is none. Entries are in the order of
// arrival; `origin_of(entry)` is a string that lives as long as the entry, or null for an entry
// that stays.
template <class Entries, class OriginOf>
auto crowded_out(Entries& entries, OriginOf origin_of) {
  std::map<std::string, std::size_t> counts;
  std::size_t most = 0;
  for (auto& entry : entries) {
    const std::string* origin = origin_of(entry);
    if (origin == nullptr) continue;
    const std::size_t count = ++counts[*origin];
    most = count > most ? count : most;
  }
  auto entry = entries.begin();
  for (; entry != entries.end(); ++entry) {
    const std::string* origin = origin_of(*entry);
    if (origin != nullptr && counts[*origin] == most) break;
  }
  return entry;
}

}  // namespace weft
