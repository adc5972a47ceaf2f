// Who is to go when too many wait for one place: the oldest of the address that has most of them.
//
// So one address, however many keys it has, crowds out itself; an empty origin counts as one, too.
// Threads: any. Fails: never.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace weft {

// The end of `entries` if there are none. They stand in the order in which they came;
// `origin_of(entry)` is a string that lives as long as the entry, or null for one that stays.
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
