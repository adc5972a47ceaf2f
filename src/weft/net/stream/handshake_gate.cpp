#include "weft/net/handshake_gate.h"

#include <algorithm>

#include <netinet/in.h>
#include <sys/socket.h>

namespace weft {
namespace {

constexpr std::size_t kV6NetworkBytes = 8;
constexpr Duration kGateSweepGap = std::chrono::seconds(1);

}  // namespace

double TokenBucket::level(TimePoint now) const {
  return std::min(burst_, tokens_ + rate_ * to_seconds(now - at_));
}

bool TokenBucket::take(TimePoint now) {
  tokens_ = level(now);
  at_ = now;
  if (tokens_ < 1.0) return false;
  tokens_ -= 1.0;
  return true;
}

HandshakeGate::HandshakeGate(const HandshakeLimits& limits, TimePoint now)
    : limits_(limits),
      all_(limits.in_all_s, limits.in_all_burst, now),
      rare_(limits.rarely_seen_s, limits.rarely_seen_burst, now),
      proved_(limits.proved_s, limits.proved_burst, now),
      rest_(limits.per_address_s, limits.per_address_burst, now),
      sweep_at_(now) {}

// An address that has all of its allowances again need not be remembered.
HandshakeGate::Address* HandshakeGate::address_of(const std::string& origin, TimePoint now) {
  const auto found = addresses_.find(origin);
  if (found != addresses_.end()) return &found->second;
  if (addresses_.size() >= limits_.addresses_max && now >= sweep_at_) {
    sweep_at_ = now + kGateSweepGap;
    std::erase_if(addresses_, [now](const auto& entry) {
      const Address& address = entry.second;
      return address.own.full(now) && address.tries.full(now) && now >= address.proved_until;
    });
  }
  if (addresses_.size() >= limits_.addresses_max) return nullptr;
  const Address fresh{TokenBucket(limits_.per_address_s, limits_.per_address_burst, now),
                      TokenBucket(limits_.rarely_seen_tries_s, limits_.rarely_seen_tries, now),
                      TimePoint::min()};
  return &addresses_.emplace(origin, fresh).first->second;
}

std::string HandshakeGate::refusal(const std::string& origin, TimePoint now) {
  if (origin.empty()) return "";
  Address* address = address_of(origin, now);
  const bool rare = address != nullptr && address->tries.take(now);
  // The address first: one that floods does not use up what others share.
  TokenBucket& own = address != nullptr ? address->own : rest_;
  if (!own.take(now)) return "too many connections from this address";
  if (all_.take(now)) return "";
  if (rare && rare_.take(now)) return "";
  const bool proved = address != nullptr && now < address->proved_until;
  return proved && proved_.take(now) ? "" : "too many connections";
}

void HandshakeGate::prove(const std::string& origin, TimePoint now) {
  if (origin.empty()) return;
  Address* address = address_of(origin, now);
  if (address != nullptr) address->proved_until = now + limits_.proved_for;
}

std::string origin_of(int socket) {
  sockaddr_storage remote = {};
  socklen_t size = sizeof remote;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&remote), &size) != 0) return "";
  if (remote.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(remote);
    const auto* bytes = reinterpret_cast<const char*>(&v4.sin_addr);
    return std::string(bytes, sizeof v4.sin_addr);
  }
  if (remote.ss_family != AF_INET6) return "";
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(remote);
  const auto* bytes = reinterpret_cast<const char*>(&v6.sin6_addr);
  // On a socket for both families IPv4 comes as ::ffff:a.b.c.d.
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) return std::string(bytes + 12, 4);
  return std::string(bytes, kV6NetworkBytes);
}

}  // namespace weft
