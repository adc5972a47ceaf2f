// HandshakeGate: how many inbound connections may begin a handshake, from one address and in all.
//
// Token buckets: a burst for groups that start together, then a steady rate that costs a few per
// cent of a processor. A handshake costs a signature and memory, so strangers must not decide how
// many there are; links that are up are not touched. Two kinds of addresses have some of the rate
// for themselves, so that many that flood together do not keep them out: those from which hardly
// anybody has tried, as a newcomer's, and those from which a member's link came. An IPv6 address
// counts as its network of 64 bits, since that is what one owner has.
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
  double per_address_s = 8.0;
  double per_address_burst = 512.0;
  // A group of 64 that starts together makes 128 connections or a few more to each member.
  double in_all_s = 40.0;
  double in_all_burst = 256.0;
  // For addresses that have hardly been seen, once what all share is used up.
  double rarely_seen_s = 40.0;
  double rarely_seen_burst = 256.0;
  // An address is rarely seen for so many tries, refused ones too, and so many a second from then
  // on. Less than the rate above by far, or few addresses would use that up for ever.
  double rarely_seen_tries = 16.0;
  double rarely_seen_tries_s = 0.2;
  // The same for addresses from which the link of a proved peer came lately.
  double proved_s = 30.0;
  double proved_burst = 512.0;
  Duration proved_for = std::chrono::minutes(10);
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
  // A peer that has proved who it is has, or had until now, a link from there.
  void prove(const std::string& origin, TimePoint now);
  std::size_t addresses() const { return addresses_.size(); }

 private:
  struct Address {
    TokenBucket own;
    TokenBucket tries;
    TimePoint proved_until;
  };
  // Null where the table has no room.
  Address* address_of(const std::string& origin, TimePoint now);

  HandshakeLimits limits_;
  TokenBucket all_;
  TokenBucket rare_;
  TokenBucket proved_;
  TokenBucket rest_;
  TimePoint sweep_at_;
  std::map<std::string, Address> addresses_;
};

// What the other side of a connected socket counts as: its address without the port; empty where
// it is on this machine by other means than a network.
std::string origin_of(int socket);

}  // namespace weft
