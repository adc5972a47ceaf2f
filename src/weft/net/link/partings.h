// Partings: connections that only say their last words. Each may take a moment to be read, so they
// are bounded: of too many the oldest is closed at once.
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
