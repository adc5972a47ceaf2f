// LaunchProfile: the launches of a thread with their times, operations, FLOPs and bytes.
//
//   LaunchProfile profile(clock);
//   {
//     const LaunchProfile::Scope scope(profile);
//     step();
//   }
//   for (const LaunchEvent& event : profile.take()) ...
//
// Where it stands: a LaunchWatcher (launch_watch.h) that keeps what it sees; reports add it up.
// Threads: the thread of the scope. Memory: an entry a launch, kEventsMax at most between two
// take(); what comes after these is counted by dropped() alone. Fails: never.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/array/launch_watch.h"
#include "weft/base/time.h"

namespace weft {

// A launch, or what it launches or times apart inside: then `depth` is above 0.
struct LaunchEvent {
  std::string name;
  LaunchOp op;  // that of the outermost launch
  int depth = 0;
  TimePoint begin;
  TimePoint end;
  double flops = 0;  // with those of what is inside
  double bytes = 0;
  std::string shapes;  // "f32[8, 4], f32[4] -> f32[8, 4]", if kept
};

class LaunchProfile final : public LaunchWatcher {
 public:
  static constexpr std::size_t kEventsMax = 200'000;

  // Borrows `clock`.
  explicit LaunchProfile(const Clock& clock) : clock_(clock) {}
  LaunchProfile(const LaunchProfile&) = delete;
  LaunchProfile& operator=(const LaunchProfile&) = delete;

  // While one lives, the launches of this thread are kept.
  class Scope {
   public:
    explicit Scope(LaunchProfile& profile) : watch_(&profile), operations_(&profile.attribution_) {}

   private:
    WatchScope watch_;
    AttributionScope operations_;
  };

  // From now on events have their shapes, which takes time and memory.
  void keep_shapes(bool keep) { keeps_shapes_ = keep; }
  // The launches since the last call, by their beginning. REQUIRES: no launch runs.
  std::vector<LaunchEvent> take();
  // Launches that found no room since the last take().
  std::int64_t dropped() const { return dropped_; }

  void begin(const char* name, LaunchArrays in, LaunchArrays out, const LaunchOp* op) override;
  void end() override;
  void add_flops(double flops) override;
  void set_bytes(double bytes) override;

 private:
  static constexpr std::size_t kNoEvent = ~std::size_t{0};

  const Clock& clock_;
  OpAttribution attribution_;  // of the events of depth 0
  std::vector<LaunchEvent> events_;
  std::vector<std::size_t> running_;  // events, the innermost last
  std::int64_t dropped_ = 0;
  bool keeps_shapes_ = false;
};

}  // namespace weft
