// Discovery: how runs on the local network are found, without sockets and clocks.
//
// Whoever looks asks a multicast group (DiscoverySearch); members answer the asker alone
// (DiscoveryResponder). net/discovery_socket.h carries the datagrams.
//
// An answer is only a hint. Its signature shows that it comes from the peer whose key it names, so
// nobody answers in another's name, and the link that follows proves the key again. That the peer
// is a member of the run it speaks of shows the run proof: an HMAC under the run id, which
// strangers do not know (an open run tells it to all). So a ticket holder believes members only;
// whoever has no ticket sees what the network claims, each claim apart, and nobody alters
// another's. In the same way a query shows that the asker knows the run; only then, or where the
// run is open, it is told where members are reached.
//
// Everything is bounded: answers in all and for each asker, which of a large run's members answer
// (about eight of any number), datagrams a search looks at, runs and members it keeps.
// Threads: one owner. Fails: a datagram that is out of order gives nothing, or the reason.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/net/code_discovery.h"
#include "weft/net/identity.h"
#include "weft/net/transport.h"
#include "weft/wire/discovery_message.h"

namespace weft {

// The public name of a run: nobody can get from it to the run id.
Hash256 discovery_tag(const RunId& run);
// What only those who know the run id can compute: with a query, and for it and this member.
Hash256 discovery_query_proof(const RunId& run, const DiscoveryNonce& nonce);
Hash256 discovery_run_proof(const RunId& run, const DiscoveryNonce& nonce, const PublicKey& key);

// What a member tells of its run.
struct DiscoveryCard {
  RunId run{};
  // For people.
  std::string name;
  std::uint32_t members = 1;
  // Where this member is reached; without any it does not answer.
  std::vector<std::string> endpoints;
  DiscoveryInvite invite = DiscoveryInvite::kTicket;
  // Of kOpen.
  std::optional<OpenInvitation> open;
};

// So many a second on average, `burst` at once.
struct DiscoveryRate {
  double per_second = 0;
  double burst = 0;
};

struct DiscoveryResponderLimits {
  // Of all answers together, and to one address.
  DiscoveryRate all{16, 32};
  DiscoveryRate asker{2, 6};
  // Addresses that are told apart; of too many the one that asked longest ago is forgotten.
  std::size_t askers_max = 256;
  // Of a large run about so many members answer a query.
  std::uint32_t answers_wanted = 8;
};

class DiscoveryResponder {
 public:
  explicit DiscoveryResponder(PeerIdentity identity, DiscoveryResponderLimits limits = {});

  // Nothing is answered while there is none.
  void set_card(std::optional<DiscoveryCard> card) { card_ = std::move(card); }
  // What is told by codes besides; the first kOfferedCodesMax, and only where there is a card.
  void set_codes(std::vector<OfferedCode> codes);
  // The datagram for `source` (an address without its port), or nothing.
  std::optional<Bytes> answer(const std::string& source, ByteSpan datagram, TimePoint now,
                              std::int64_t unix_time_s);
  std::size_t askers() const { return askers_.size(); }

 private:
  struct Bucket {
    double tokens = 0;
    TimePoint filled;
  };
  bool chosen(const DiscoveryNonce& nonce) const;
  bool allowed(const std::string& source, TimePoint now);
  const OfferedCode* offered(const DiscoveryQuery& query, std::int64_t unix_time_s) const;
  static void fill(Bucket& bucket, const DiscoveryRate& rate, TimePoint now);

  PeerIdentity identity_;
  DiscoveryResponderLimits limits_;
  std::optional<DiscoveryCard> card_;
  std::vector<OfferedCode> codes_;
  Bucket all_;
  std::map<std::string, Bucket> askers_;
};

// A member as it answered.
struct DiscoveredMember {
  PeerId id;
  std::vector<std::string> endpoints;
  // The address its answer came from, without the port.
  std::string source;
  std::uint32_t members = 0;
  // Its clock minus ours.
  std::int64_t clock_ahead_s = 0;
  std::optional<OpenInvitation> open;
  TimePoint heard;
};

// What some members said alike: those of one run, if all of them are honest.
struct DiscoveredRun {
  Hash256 tag{};
  std::string name;
  DiscoveryInvite invite = DiscoveryInvite::kTicket;
  // Of open runs.
  Hash256 recipe_hash{};
  // True where each answer proved that its sender knows the run.
  bool proved = false;
  // In the order of their ids.
  std::vector<DiscoveredMember> answers;

  // The largest number that an answer gave.
  std::uint32_t members() const;
  std::vector<PeerAddress> addresses() const;
};

struct DiscoverySearchLimits {
  std::size_t datagrams_max = 2048;
  std::size_t runs_max = 64;
  std::size_t members_max = 16;
  // Answers kept from one address: one machine may hold many peers, but not all of the table.
  std::size_t source_max = 32;
  // An answer is forgotten after this.
  Duration keep_for = std::chrono::seconds(30);
};

class DiscoverySearch {
 public:
  // Of `run`, whose members must prove that they know it; without: of any run.
  explicit DiscoverySearch(std::optional<RunId> run, DiscoverySearchLimits limits = {});

  // A query to send, each with a nonce of its own. Answers to any of the last eight are taken.
  Bytes query(const DiscoveryNonce& nonce);
  // kCorrupt for what is no answer to this search, kUnavailable for one beyond a bound.
  Status on_datagram(const std::string& source, ByteSpan datagram, TimePoint now,
                     std::int64_t unix_time_s);
  void expire(TimePoint now);
  // Runs with more answers first.
  std::vector<DiscoveredRun> runs() const;

 private:
  // What must be alike for two answers to be of one run.
  struct Key {
    Hash256 tag{};
    DiscoveryInvite invite{};
    Hash256 recipe_hash{};
    std::string name;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  using Members = std::map<PeerId, DiscoveredMember>;

  Status check(const DiscoveryAnswer& answer) const;
  Status keep(const Key& key, DiscoveredMember member);
  std::size_t count_source(const std::string& source) const;

  std::optional<RunId> run_;
  DiscoverySearchLimits limits_;
  std::vector<DiscoveryNonce> nonces_;
  std::size_t datagrams_ = 0;
  std::map<Key, Members> found_;
};

}  // namespace weft
