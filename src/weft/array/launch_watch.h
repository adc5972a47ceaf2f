// LaunchWatcher: sees each launch of a thread with what it computes; OpAttribution: of which
// operation each launch is. For profilers and for recorded graphs.
//
//   launch_flops(2.0 * m * n * k);                      // in a body: what this launch computes
//   const LaunchPart part("conv2d_data_gradient");      // in a body: a part of it, timed apart
//
// Where it stands: launch() (launch.h) and a replayed node (graph/program.h) each hold a
// WatchedLaunch, so all work passes here whether a step is eager or replayed. record() and the
// backward sweep (autograd) say which operation is done or begins. Without a watcher each of these
// is one read and one branch.
// Threads: pointers are of one thread: a watcher sees the launches of the thread that installs it.
// Bodies call launch_flops(), launch_bytes() and LaunchPart on the thread that launched, never
// within a parallel loop; elsewhere these do nothing. Fails: never.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/array/launch_body.h"

namespace weft {

enum class Pass : std::uint8_t { kNone, kForward, kBackward };

// The operation that a launch belongs to. Without a name: none, as for the optimizer.
struct LaunchOp {
  std::string name;
  Pass pass = Pass::kNone;
  // The same for all launches of one call of the operation, another for each call.
  std::int64_t call = 0;
};

// Gives each launch of a run its operation. The name of a forward is known only when it is done, by
// record(), so what was launched since the operation before is then its own. A backward begins and
// ends, and what operations launch inside of one (a checkpoint that computes its forward again) is
// theirs.
class OpAttribution {
 public:
  // One more launch, of an operation that op() will know.
  void add();
  // One more launch of `op`.
  void add(LaunchOp op);
  void op_done(const char* name);
  void gradient_begin(const char* name);
  void gradient_end();
  // No operation to come claims what was launched so far.
  void close() { first_open_ = launches_.size(); }

  std::size_t size() const { return launches_.size(); }
  const LaunchOp& op(std::size_t launch) const { return launches_[launch].op; }
  void clear();

 private:
  struct Launch {
    LaunchOp op;
    bool known = false;
  };
  std::vector<Launch> launches_;
  std::vector<LaunchOp> gradients_;  // that have begun, the innermost last
  std::size_t first_open_ = 0;
  std::int64_t calls_ = 0;
};

class LaunchWatcher {
 public:
  virtual ~LaunchWatcher() = default;
  // `op` is null unless the graph that replays the launch knows it. Begins nest.
  virtual void begin(const char* name, LaunchArrays in, LaunchArrays out, const LaunchOp* op) = 0;
  virtual void end() = 0;
  // What the launch or part that has begun last computes, reads and writes.
  virtual void add_flops(double flops) = 0;
  virtual void set_bytes(double bytes) = 0;
};

namespace internal {
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
inline constinit thread_local LaunchWatcher* current_watcher = nullptr;
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
inline constinit thread_local OpAttribution* current_attribution = nullptr;
}  // namespace internal

// While one lives, launches of this thread go to `watcher`; to none with nullptr. Nests.
class WatchScope {
 public:
  explicit WatchScope(LaunchWatcher* watcher)
      : before_(std::exchange(internal::current_watcher, watcher)) {}
  ~WatchScope() { internal::current_watcher = before_; }
  WatchScope(const WatchScope&) = delete;
  WatchScope& operator=(const WatchScope&) = delete;

 private:
  LaunchWatcher* before_;
};

// While one lives, `attribution` gets the operations of this thread; none gets them with nullptr.
class AttributionScope {
 public:
  explicit AttributionScope(OpAttribution* attribution)
      : before_(std::exchange(internal::current_attribution, attribution)) {}
  ~AttributionScope() { internal::current_attribution = before_; }
  AttributionScope(const AttributionScope&) = delete;
  AttributionScope& operator=(const AttributionScope&) = delete;

 private:
  OpAttribution* before_;
};

// The time of one launch.
class WatchedLaunch {
 public:
  WatchedLaunch(const char* name, LaunchArrays in, LaunchArrays out, const LaunchOp* op = nullptr)
      : watcher_(internal::current_watcher) {
    if (watcher_ != nullptr) [[unlikely]]
      watcher_->begin(name, in, out, op);
  }
  ~WatchedLaunch() {
    if (watcher_ != nullptr) [[unlikely]]
      watcher_->end();
  }
  WatchedLaunch(const WatchedLaunch&) = delete;
  WatchedLaunch& operator=(const WatchedLaunch&) = delete;

 private:
  LaunchWatcher* watcher_;
};

// The time of one part of the launch that runs. `name` must be a literal.
class LaunchPart {
 public:
  explicit LaunchPart(const char* name) : launch_(name, {nullptr, 0}, {nullptr, 0}) {}

 private:
  WatchedLaunch launch_;
};

// The time of one operation's gradient.
class GradientScope {
 public:
  explicit GradientScope(const char* op) : attribution_(internal::current_attribution) {
    if (attribution_ != nullptr) [[unlikely]]
      attribution_->gradient_begin(op);
  }
  ~GradientScope() {
    if (attribution_ != nullptr) [[unlikely]]
      attribution_->gradient_end();
  }
  GradientScope(const GradientScope&) = delete;
  GradientScope& operator=(const GradientScope&) = delete;

 private:
  OpAttribution* attribution_;
};

// The operation `name` has computed its output.
inline void note_op_done(const char* name) {
  if (internal::current_attribution != nullptr) [[unlikely]] {
    internal::current_attribution->op_done(name);
  }
}

// The launch or part that runs computes so many floating point operations more; a multiply-add is
// two. The sum that is asked for counts, not the algorithm's: a Winograd convolution does fewer.
inline void launch_flops(double flops) {
  if (internal::current_watcher != nullptr) [[unlikely]] {
    internal::current_watcher->add_flops(flops);
  }
}

// The launch that runs reads and writes so many bytes; without it, each operand's own.
inline void launch_bytes(double bytes) {
  if (internal::current_watcher != nullptr) [[unlikely]] {
    internal::current_watcher->set_bytes(bytes);
  }
}

// The bytes of the distinct elements that the view has. 0 if it is undefined.
double bytes_of(const Array& array);

}  // namespace weft
