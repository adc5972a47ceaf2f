// ResultFetch: draws the results of consecutive rounds from members, a few ahead, in order.
//
// The part of StateFetch that deals with results; see state_fetch.h for the rules.
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

class ResultFetch {
 public:
  ResultFetch(const StateFetchOptions& options, StateSink& sink) : options_(options), sink_(sink) {}

  void begin(Round first, TimePoint now);
  void stop();
  void set_sources(const std::vector<PeerId>& sources, TimePoint now);
  void remove_source(const PeerId& peer, TimePoint now);

  Status on_result(const PeerId& from, const ResultHead& head, ByteSpan body, TimePoint now);
  void on_missing(const PeerId& from, const ResultMissingMessage& missing, TimePoint now);
  void on_timer(TimePoint now);
  TimePoint next_deadline() const;

  std::optional<StateFetch::FetchedResult> take(TimePoint now);
  Round newest_known() const { return newest_; }
  bool gone() const { return gone_; }

 private:
  struct Pending {
    bool asked = false;
    bool asked_again = false;
    PeerId source;
    TimePoint asked_at;
    // Sources that do not keep this round.
    std::set<PeerId> without;
    Hash128 hash{};
    std::shared_ptr<FloatBuffer> values;
    std::uint32_t report_bytes = 0;
    Bytes reports;
    std::uint32_t pieces_here = 0;
    bool complete = false;
  };

  void request(TimePoint now);
  void ask(const PeerId& source, Round round, Pending& pending, TimePoint now);
  // When its source has had long enough; TimePoint::max() if nothing is waited for.
  TimePoint asked_until(Round round, const Pending& pending) const;
  // The source with the fewest open requests that may have it; null if there is none.
  const PeerId* pick(const Pending& pending) const;
  void restart(Pending& pending);
  void learn(Round newest, TimePoint now);
  // The round if this piece of it, from this peer, is the next expected one; null otherwise.
  Pending* expected(const PeerId& from, const ResultHead& head);

  StateFetchOptions options_;
  StateSink& sink_;
  bool active_ = false;
  bool gone_ = false;
  Round next_;
  Round newest_;
  // How often it was begun without having come any further.
  std::uint64_t begun_again_ = 0;
  std::set<PeerId> sources_;
  std::map<Round, Pending> pending_;
};

}  // namespace weft
