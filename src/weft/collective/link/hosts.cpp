#include "weft/collective/link/hosts.h"

#include <map>
#include <set>
#include <string>

namespace weft {

static std::set<std::string> addresses_of(const Member& member) {
  std::set<std::string> addresses;
  for (const std::string& endpoint : member.endpoints) {
    addresses.insert(endpoint.substr(0, endpoint.rfind(':')));
  }
  return addresses;
}

std::vector<int> hosts_of(const View& view) {
  std::vector<int> hosts;
  std::map<std::set<std::string>, int> known;
  int count = 0;
  for (const Member& member : view.members) {
    const std::set<std::string> addresses = addresses_of(member);
    // A member without addresses may be anywhere.
    if (addresses.empty()) {
      hosts.push_back(count++);
      continue;
    }
    const auto [found, is_new] = known.emplace(addresses, count);
    if (is_new) ++count;
    hosts.push_back(found->second);
  }
  if (count <= 1 || count == view.size()) return {};
  return hosts;
}

bool shares_host(const View& view, Rank self) {
  const auto own = static_cast<std::size_t>(self.value());
  const std::set<std::string> addresses = addresses_of(view.members[own]);
  for (std::size_t rank = 0; rank < view.members.size(); ++rank) {
    if (rank != own && !addresses.empty() && addresses_of(view.members[rank]) == addresses) {
      return true;
    }
  }
  return false;
}

}  // namespace weft
