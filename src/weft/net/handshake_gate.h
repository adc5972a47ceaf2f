// HandshakeGate: how many inbound connections may begin a handshake, from one address and in total.
//
// Token buckets: a burst for groups that start together, then a steady rate that costs a few per
// cent of a processor. A handshake costs a signature and memory, so strangers must not decide how
// many there are; links that are up are not affected. A part of the rate is reserved for two kinds
// of addresses, so that a flood from many addresses does not keep them out: those that have hardly
// tried before, as a newcomer's, and those from which a member's link came. An IPv6 address counts
// as its network of 64 bits, since that is what one owner has.
//
// Threads: the loop thread.
// Fails: never; connections beyond a bound are refused. Memory is bounded: addresses beyond the
// table share one bucket.
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
  // The rate reserved for addresses that have hardly been seen, used once the common rate is
  // exhausted.
  double rarely_seen_s = 40.0;
  double rarely_seen_burst = 256.0;
  // An address counts as rarely seen for this many tries, refused ones included, and this many more
  // a second from then on. It is far below the rate above, or a few addresses would exhaust that
  // for ever.
  double rarely_seen_tries = 16.0;
  double rarely_seen_tries_s = 0.2;
  // The rate reserved for addresses from which the link of a proved peer came lately.
  double proved_s = 30.0;
  double proved_burst = 512.0;
  Duration proved_for = std::chrono::minutes(10);
  std::size_t addresses_max = 4096;
};

// A bucket that holds `burst` tokens and refills at `rate` a second.
class TokenBucket {
 public:
  TokenBucket(double rate, double burst, TimePoint now)
      : rate_(rate), burst_(burst), tokens_(burst), at_(now) {}
  bool take(TimePoint now);
  bool full(TimePoint now) const { return level(now) >= burst_; }
  // The number of tokens that could be taken at once.
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
  // Empty if a connection from `origin` may proceed, otherwise the reason why not. An empty origin
  // is never limited.
  std::string refusal(const std::string& origin, TimePoint now);
  // A peer with a proved key has, or has just had, a link from `origin`.
  void prove(const std::string& origin, TimePoint now);
  std::size_t addresses() const { return addresses_.size(); }

 private:
  struct Address {
    TokenBucket own;
    TokenBucket tries;
    TimePoint proved_until;
  };
  // Null if the table is full.
  Address* address_of(const std::string& origin, TimePoint now);

  HandshakeLimits limits_;
  TokenBucket all_;
  TokenBucket rare_;
  TokenBucket proved_;
  TokenBucket rest_;
  TimePoint sweep_at_;
  std::map<std::string, Address> addresses_;
};

// The origin by which a connected socket is counted: its address without the port; empty for a peer
// on this machine that is not connected over a network.
std::string origin_of(int socket);

}  // namespace weft
