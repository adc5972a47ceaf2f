// SnapshotFetch: draws one snapshot of the state from several members at once.
//
// The part of StateFetch that deals with offers and blocks; see state_fetch.h for the rules.
// Threads: one owner.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/state/state_fetch.h"
#include "weft/wire/state_message.h"

namespace weft {

class SnapshotFetch {
 public:
  SnapshotFetch(const StateFetchOptions& options, StateSink& sink)
      : options_(options), sink_(sink) {}

  // Asks for offers. Blocks that are here stay here, for the case that their snapshot still is.
  void begin(TimePoint now);
  // The same, of no other snapshot than this one.
  void begin_only(const Hash256& root, TimePoint now);
  void stop() { phase_ = Phase::kIdle; }
  void set_sources(const std::vector<PeerId>& sources, TimePoint now);
  void remove_source(const PeerId& peer, TimePoint now);

  Status on_offer(const PeerId& from, const StateOfferMessage& offer, TimePoint now);
  Status on_block(const PeerId& from, const BlockHead& head, ByteSpan body, TimePoint now);
  void on_missing(const PeerId& from, const BlockMissingMessage& missing, TimePoint now);
  void on_timer(TimePoint now);
  TimePoint next_deadline() const;

  bool ready() const { return phase_ == Phase::kReady; }
  // REQUIRES: ready().
  StateFetch::Snapshot take();
  // Blocks that were here when the last transfer began or went on.
  std::uint32_t blocks_resumed() const { return resumed_; }

 private:
  // kKept: the blocks that an earlier start of the program has kept are read, a slice at a time.
  enum class Phase : std::uint8_t { kIdle, kOffers, kKept, kBlocks, kReady };
  struct Source {
    std::optional<SnapshotName> offered;
    // Blocks asked of it that have not come.
    std::set<std::uint32_t> asked;
    // Since when it owes one: the last that came, or the first that was asked for.
    TimePoint moved_at;
    // It has let blocks wait for too long: asked once more after all others.
    bool slow = false;
  };
  struct Block {
    bool here = false;
    // Asked of this one.
    std::optional<PeerId> source;
  };

  void query(TimePoint now);
  void choose(TimePoint now);
  void adopt(const SnapshotName& name, TimePoint now);
  void read_kept(TimePoint now);
  void begin_blocks(TimePoint now);
  // Requests blocks from providers; returns to the offers if there is no provider left.
  void request(TimePoint now);
  bool request_round(bool slow, TimePoint now, bool& provider);
  bool request_from(const PeerId& peer, Source& source, TimePoint now);
  // Lets others be asked for what this one owes.
  void release(Source& source);
  void find_open();
  MutableByteSpan place_of(std::uint32_t index);

  StateFetchOptions options_;
  StateSink& sink_;
  Phase phase_ = Phase::kIdle;
  std::map<PeerId, Source> sources_;
  TimePoint next_query_;
  TimePoint choose_at_;
  TimePoint first_offer_;
  // Requested by its root: the target, or the snapshot that an earlier process has kept.
  std::optional<SnapshotName> wanted_;
  bool looked_for_kept_ = false;
  // Other offers are passed over.
  std::optional<Hash256> only_;
  TimePoint read_at_;

  SnapshotName target_;
  std::shared_ptr<Bytes> buffer_;
  std::vector<Block> blocks_;
  // Blocks not asked for yet; the next one is the last. Some may have arrived meanwhile.
  std::vector<std::uint32_t> open_;
  std::size_t here_ = 0;
  std::uint32_t resumed_ = 0;
};

}  // namespace weft
