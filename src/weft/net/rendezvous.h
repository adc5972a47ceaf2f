// Rendezvous: members leave their addresses in a public table, for joiners whose ticket names
// addresses that no longer answer, and for members that have lost the others.
//
// The table (a distributed hash table, or memory in tests) belongs to strangers. Its key is a hash
// of the run id; what lies under it is signed by the member and sealed with a key made from the
// run id: strangers neither read nor write records, and what they put there is passed over. Who
// knows the run id could write false records; as everywhere the link proves the key, and a record
// is only a hint where to dial.
//
// Rendezvous decides when to write and look, and what to believe; without sockets and clocks.
// RendezvousTable is the place; its implementations do the rest.
// Threads: one owner. Fails: never; a record that is out of order gives its reason.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/rng.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/net/event_loop.h"
#include "weft/net/identity.h"
#include "weft/net/transport.h"
#include "weft/wire/rendezvous_message.h"

namespace weft {

using RendezvousKey = std::array<std::uint8_t, 20>;
RendezvousKey rendezvous_key(const RunId& run);

// A record of `identity`, for the table: nonce 12, ciphertext, tag 16 (AES-256-GCM).
Bytes seal_rendezvous_record(const PeerIdentity& identity, const RunId& run,
                             const std::vector<std::string>& endpoints, std::int64_t unix_time_s);
// kCorrupt for what no member of `run` wrote.
Result<RendezvousRecord> open_rendezvous_record(const RunId& run, ByteSpan sealed);

class RendezvousTable {
 public:
  using Found = std::function<void(std::vector<Bytes>)>;

  virtual ~RendezvousTable() = default;
  // Leaves `value` under `key` for some minutes at least.
  virtual void put(const RendezvousKey& key, Bytes value) = 0;
  // Calls `found` at most once, on the loop, never inside this call, and not after this table's
  // end. What comes may be anything.
  virtual void get(const RendezvousKey& key, Found found) = 0;
};
// Makes the table of a swarm, on its loop.
using MakeRendezvousTable =
    std::function<Result<std::unique_ptr<RendezvousTable>>(EventLoop& loop)>;

struct RendezvousOptions {
  RunId run{};
  // A record is written anew so often, and at once when the addresses change (but not more often
  // than `write_gap`). Tables forget values after about ten minutes.
  Duration write_interval = std::chrono::minutes(4);
  // The first pauses, doubled up to that: a table that was only just entered may lose a record.
  Duration write_gap_first = std::chrono::seconds(5);
  Duration write_gap = std::chrono::seconds(20);
  // While the others are looked for: the first pause between looks, doubled up to the last.
  Duration look_gap_first = std::chrono::seconds(2);
  Duration look_gap_last = std::chrono::minutes(2);
  // Records older than this, or from further in the future, are passed over.
  std::int64_t age_max_s = 3600;
  std::int64_t ahead_max_s = 600;
  std::size_t values_max = 64;
  std::size_t peers_max = 64;
};

class Rendezvous {
 public:
  // `rng` draws the jitter between writes.
  Rendezvous(RendezvousOptions options, PeerIdentity identity, Rng rng);

  // Where this peer is reached; empty: it is no member, and nothing is written.
  void set_endpoints(std::vector<std::string> endpoints, TimePoint now);
  // Whether others are looked for.
  void set_looking(bool looking, TimePoint now);
  // What came from the table.
  void on_values(const std::vector<Bytes>& values, std::int64_t unix_time_s);

  struct Actions {
    // To be put into the table.
    std::optional<Bytes> put;
    // The table is to be asked.
    bool get = false;
  };
  Actions on_timer(TimePoint now, std::int64_t unix_time_s);
  // When on_timer() wants to be called next; TimePoint::max() for never.
  TimePoint next_deadline() const;

  // Peers of the run as their newest records say, this one not among them.
  std::vector<PeerAddress> known(std::int64_t unix_time_s) const;
  const RendezvousOptions& options() const { return options_; }

 private:
  struct Known {
    std::int64_t unix_time_s = 0;
    std::vector<std::string> endpoints;
  };
  bool in_time(std::int64_t written, std::int64_t now) const;

  RendezvousOptions options_;
  PeerIdentity identity_;
  Rng rng_;
  std::vector<std::string> endpoints_;
  TimePoint write_at_ = TimePoint::max();
  Duration write_pause_{};
  std::optional<TimePoint> written_at_;
  TimePoint look_at_ = TimePoint::max();
  Duration look_gap_{};
  std::map<PeerId, Known> known_;
};

struct LookUpOptions {
  RunId run{};
  Duration limit = std::chrono::seconds(20);
};
// Asks the table until peers of the run are found or the limit has passed. Blocks its caller.
Result<std::vector<PeerAddress>> look_up_peers(const MakeRendezvousTable& make_table,
                                               const LookUpOptions& options);

}  // namespace weft
