// Discovery: how peers find runs on the local network, without sockets and clocks.
//
// A peer that looks for runs asks a multicast group (DiscoverySearch); members answer the asker
// alone (DiscoveryResponder). net/discovery_socket.h carries the datagrams.
//
// An answer is only a hint. Its signature shows that it comes from the peer whose key it names, so
// that nobody answers in another's name, and the link that follows proves the key again. The run
// proof, an HMAC under the run id, shows that the peer is a member of the run that it names:
// strangers do not have the run id (an open run publishes it). A ticket holder thus accepts answers
// of members only; a peer without a ticket sees what the network claims, each claim separately, and
// nobody can alter another's. In the same way a query shows that the asker holds the run id; only
// then, or where the run is open, does the answer contain the members' addresses.
//
// Everything is bounded: answers in total and per asker, the number of a large run's members that
// answer (about eight, however many there are), the datagrams that a search examines, the runs and
// members that it keeps. Threads: one owner. Fails: an invalid datagram gives nothing, or the
// reason.
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

// The public name of a run, from which nobody can compute the run id.
Hash256 discovery_tag(const RunId& run);
// Proofs that only holders of the run id can compute: for a query, and for an answer by this
// member.
Hash256 discovery_query_proof(const RunId& run, const DiscoveryNonce& nonce);
Hash256 discovery_run_proof(const RunId& run, const DiscoveryNonce& nonce, const PublicKey& key);

// What a member's answers contain about its run.
struct DiscoveryCard {
  RunId run{};
  // The run's name, for people.
  std::string name;
  std::uint32_t members = 1;
  // Where this member can be reached; without endpoints it does not answer.
  std::vector<std::string> endpoints;
  DiscoveryInvite invite = DiscoveryInvite::kTicket;
  // Set where `invite` is kOpen.
  std::optional<OpenInvitation> open;
};

// A rate of answers: the average per second, and at most `burst` at once.
struct DiscoveryRate {
  double per_second = 0;
  double burst = 0;
};

struct DiscoveryResponderLimits {
  // The rate of all answers together, and of those to one address.
  DiscoveryRate all{16, 32};
  DiscoveryRate asker{2, 6};
  // How many addresses have a rate of their own; when there are more, the one that asked longest
  // ago is dropped.
  std::size_t askers_max = 256;
  // About this many members of a large run answer a query.
  std::uint32_t answers_wanted = 8;
};

class DiscoveryResponder {
 public:
  explicit DiscoveryResponder(PeerIdentity identity, DiscoveryResponderLimits limits = {});

  // Without a card the responder does not answer.
  void set_card(std::optional<DiscoveryCard> card) { card_ = std::move(card); }
  // Sets what queries by codes get; the first kOfferedCodesMax are used, and only while there is a
  // card.
  void set_codes(std::vector<OfferedCode> codes);
  // Returns the datagram for `source` (an address without its port), or nothing.
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

// A member as its answer describes it.
struct DiscoveredMember {
  PeerId id;
  std::vector<std::string> endpoints;
  // The address that its answer came from, without the port.
  std::string source;
  std::uint32_t members = 0;
  // The member's clock minus this peer's.
  std::int64_t clock_ahead_s = 0;
  std::optional<OpenInvitation> open;
  TimePoint heard;
};

// What several members answered alike: they are of one run, if all of them are honest.
struct DiscoveredRun {
  Hash256 tag{};
  std::string name;
  DiscoveryInvite invite = DiscoveryInvite::kTicket;
  // Set for open runs.
  Hash256 recipe_hash{};
  // True if each answer proved that its sender holds the run id.
  bool proved = false;
  // Sorted by id.
  std::vector<DiscoveredMember> answers;

  // The largest number of members in any of the answers.
  std::uint32_t members() const;
  std::vector<PeerAddress> addresses() const;
};

struct DiscoverySearchLimits {
  std::size_t datagrams_max = 2048;
  std::size_t runs_max = 64;
  std::size_t members_max = 16;
  // Bound of the answers kept from one address: a machine may hold many peers, but must not fill
  // the table.
  std::size_t source_max = 32;
  // An answer is dropped after this time.
  Duration keep_for = std::chrono::seconds(30);
};

class DiscoverySearch {
 public:
  // Searches for `run`, whose members must prove that they hold its id, or for any run without it.
  explicit DiscoverySearch(std::optional<RunId> run, DiscoverySearchLimits limits = {});

  // Returns a query to send; each has a nonce of its own. Answers to any of the last eight are
  // accepted.
  Bytes query(const DiscoveryNonce& nonce);
  // kCorrupt if the datagram is no answer to this search, kUnavailable if it exceeds a bound.
  Status on_datagram(const std::string& source, ByteSpan datagram, TimePoint now,
                     std::int64_t unix_time_s);
  void expire(TimePoint now);
  // The runs found; those with more answers come first.
  std::vector<DiscoveredRun> runs() const;

 private:
  // What two answers of one run have in common.
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
