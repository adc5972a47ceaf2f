// Rendezvous: members leave their addresses in a public table, for joiners whose ticket names
// addresses that no longer answer, and for members that have lost the others.
//
// The table (a distributed hash table, or memory in tests) belongs to strangers. Its key is a hash
// of the run id; each record is signed by its member and sealed with a key made from the run id:
// strangers neither read nor write records, and what they store there is ignored. A holder of the
// run id could write false records; as everywhere the link proves the key, and a record is only a
// hint where to dial.
//
// Rendezvous decides when to write and look, and what to accept; it has no sockets and clocks.
// RendezvousTable is the interface of the table. Threads: one owner. Fails: never; an invalid
// record gives its reason.
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

// Makes a record of `identity` for the table: nonce 12, ciphertext, tag 16 (AES-256-GCM).
Bytes seal_rendezvous_record(const PeerIdentity& identity, const RunId& run,
                             const std::vector<std::string>& endpoints, std::int64_t unix_time_s);
// kCorrupt if no member of `run` wrote it.
Result<RendezvousRecord> open_rendezvous_record(const RunId& run, ByteSpan sealed);

class RendezvousTable {
 public:
  using Found = std::function<void(std::vector<Bytes>)>;

  virtual ~RendezvousTable() = default;
  // Stores `value` under `key` for some minutes at least.
  virtual void put(const RendezvousKey& key, Bytes value) = 0;
  // Calls `found` at most once, on the loop, never inside this call, and not after this table's
  // end. The values may be anything.
  virtual void get(const RendezvousKey& key, Found found) = 0;
};
// Makes the table of a swarm, on its loop.
using MakeRendezvousTable =
    std::function<Result<std::unique_ptr<RendezvousTable>>(EventLoop& loop)>;

struct RendezvousOptions {
  RunId run{};
  // How often a record is written again; it is also written when the addresses change (but at
  // intervals of at least `write_gap`). Tables drop values after about ten minutes.
  Duration write_interval = std::chrono::minutes(4);
  // The first interval, doubled up to `write_gap`: a table that this peer has just entered may lose
  // a record.
  Duration write_gap_first = std::chrono::seconds(5);
  Duration write_gap = std::chrono::seconds(20);
  // While the others are searched for: the first interval between looks, doubled up to the last.
  Duration look_gap_first = std::chrono::seconds(2);
  Duration look_gap_last = std::chrono::minutes(2);
  // Records older than this, or further ahead in time, are ignored.
  std::int64_t age_max_s = 3600;
  std::int64_t ahead_max_s = 600;
  std::size_t values_max = 64;
  std::size_t peers_max = 64;
};

class Rendezvous {
 public:
  // `rng` draws the jitter between writes.
  Rendezvous(RendezvousOptions options, PeerIdentity identity, Rng rng);

  // Where this peer can be reached; empty: it is no member, and nothing is written.
  void set_endpoints(std::vector<std::string> endpoints, TimePoint now);
  // Turns the search for the others on or off.
  void set_looking(bool looking, TimePoint now);
  // Takes values that came from the table.
  void on_values(const std::vector<Bytes>& values, std::int64_t unix_time_s);

  struct Actions {
    // A value to store in the table.
    std::optional<Bytes> put;
    // True if the table is to be searched.
    bool get = false;
  };
  Actions on_timer(TimePoint now, std::int64_t unix_time_s);
  // When on_timer() must be called next; TimePoint::max() for never.
  TimePoint next_deadline() const;

  // Peers of the run by their newest records, without this one.
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
// Searches the table until it finds peers of the run, or until the limit has passed. Blocks its
// caller.
Result<std::vector<PeerAddress>> look_up_peers(const MakeRendezvousTable& make_table,
                                               const LookUpOptions& options);

}  // namespace weft
