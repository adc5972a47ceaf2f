#include "weft/net/link/partings.h"

namespace weft {

std::size_t Partings::count() {
  std::erase_if(leaving_, [](const std::weak_ptr<Connection>& each) {
    const std::shared_ptr<Connection> connection = each.lock();
    return connection == nullptr || connection->closed();
  });
  return leaving_.size();
}

void Partings::add(const std::shared_ptr<Connection>& connection) {
  if (connection == nullptr || connection->closed()) return;
  if (count() >= kMost) {
    if (const std::shared_ptr<Connection> oldest = leaving_.front().lock()) oldest->close();
    leaving_.pop_front();
  }
  leaving_.push_back(connection);
}

}  // namespace weft
