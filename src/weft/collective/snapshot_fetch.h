// SnapshotFetch: draws one snapshot of the state from several members at once.
//
// The part of StateFetch that deals with offers and blocks; see state_fetch.h for the rules.
// Threads: one owner.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/state_fetch.h"
#include "weft/wire/state_message.h"

namespace weft {

class SnapshotFetch {
 public:
  SnapshotFetch(const StateFetchOptions& options, StateSink& sink)
      : options_(options), sink_(sink) {}

  void begin(TimePoint now);
  void stop() { phase_ = Phase::kIdle; }
  void set_sources(const std::vector<PeerId>& sources, TimePoint now);
  void remove_source(const PeerId& peer, TimePoint now);

  Status on_offer(const PeerId& from, const StateOfferMessage& offer, TimePoint now);
  Status on_block(const PeerId& from, const BlockName& head, ByteSpan body, TimePoint now);
  void on_missing(const PeerId& from, const BlockMissingMessage& missing, TimePoint now);
  MutableByteSpan body_destination(const PeerId& from, const BlockName& head,
                                   std::size_t body_bytes);
  void on_timer(TimePoint now);
  TimePoint next_deadline() const;

  bool ready() const { return phase_ == Phase::kReady; }
  // REQUIRES: ready().
  StateFetch::Snapshot take();

 private:
  enum class Phase : std::uint8_t { kIdle, kOffers, kBlocks, kReady };
  struct Source {
    std::optional<Hash256> offered;
    int in_flight = 0;
  };
  struct Block {
    bool asked = false;
    bool here = false;
    PeerId source;
    TimePoint asked_at;
  };

  void query(TimePoint now);
  void choose(TimePoint now);
  void adopt(const Hash256& id, TimePoint now);
  // Asks providers for blocks; goes back to the offers if there is no provider left.
  void request(TimePoint now);
  bool request_from(const PeerId& peer, Source& source, TimePoint now);
  void release(const PeerId& peer);
  // The block if it was asked of `from`; null otherwise.
  Block* asked_block(const PeerId& from, const BlockName& head);

  StateFetchOptions options_;
  StateSink& sink_;
  Phase phase_ = Phase::kIdle;
  std::map<PeerId, Source> sources_;
  std::map<Hash256, SnapshotManifest> offers_;
  TimePoint next_query_;
  TimePoint choose_at_;

  Hash256 target_id_{};
  SnapshotManifest target_;
  std::shared_ptr<Bytes> buffer_;
  std::vector<Block> blocks_;
  std::size_t here_ = 0;
};

}  // namespace weft
