// HandshakeGate: how many inbound connections may begin a handshake, from one address and in all.
//
// Token buckets: a burst for groups that start together, then a steady rate. A handshake costs a
// signature and memory, so strangers must not decide how many there are; links that are up are not
// touched. Addresses that have made few connections have some of the rate for themselves, so that
// many that flood together do not keep newcomers out. An IPv6 address counts as its network of 64
// bits, since that is what one owner has.
//
// Threads: the loop thread.
// Fails: never; what exceeds a bound is refused. Memory is bounded: addresses beyond the table
// share one bucket.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "weft/base/time.h"

namespace weft {

struct HandshakeLimits {
  double per_address_s = 50.0;
  double per_address_burst = 512.0;
  double in_all_s = 400.0;
  double in_all_burst = 2048.0;
  // For addresses that have hardly been seen, once all others have used up what they share.
  double rarely_seen_s = 100.0;
  double rarely_seen_burst = 512.0;
  // An address is rarely seen while it has used up at most this share of its burst.
  double rarely_seen_share = 1.0 / 32;
  std::size_t addresses_max = 4096;
};

// `burst` at once, and `rate` a second from then on.
class TokenBucket {
 public:
  TokenBucket(double rate, double burst, TimePoint now)
      : rate_(rate), burst_(burst), tokens_(burst), at_(now) {}
  bool take(TimePoint now);
  bool full(TimePoint now) const { return level(now) >= burst_; }
  // How many more could be taken at once.
  double level(TimePoint now) const;

 private:
  double rate_;
  double burst_;
  double tokens_;
  TimePoint at_;
};

class HandshakeGate {
 public:
  HandshakeGate(const HandshakeLimits& limits, TimePoint now);
  // Empty if a connection from `origin` may go on, or why not. An empty origin is never bounded.
  std::string refusal(const std::string& origin, TimePoint now);
  std::size_t addresses() const { return addresses_.size(); }

 private:
  TokenBucket& bucket_of(const std::string& origin, TimePoint now);

  HandshakeLimits limits_;
  TokenBucket all_;
  TokenBucket rare_;
  TokenBucket rest_;
  TimePoint sweep_at_;
  std::map<std::string, TokenBucket> addresses_;
};

// What the other side of a connected socket counts as: its address without the port; empty where
// it is on this machine by other means than a network.
std::string origin_of(int socket);

}  // namespace weft
