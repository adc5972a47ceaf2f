// Partings: connections that only send their last frames before they close. Each may take a moment
// to be read, so their number is bounded: when there are too many, the oldest is closed at once.
//
// Threads: the loop thread. Fails: never.
#pragma once

#include <deque>
#include <memory>

#include "weft/net/stream/connection.h"

namespace weft {

class Partings {
 public:
  static constexpr std::size_t kMost = 64;

  void add(const std::shared_ptr<Connection>& connection);
  std::size_t count();

 private:
  std::deque<std::weak_ptr<Connection>> leaving_;
};

}  // namespace weft
