// Engine: collectives among a fixed or agreed group of processes, over any carrier of bytes.
//
// One interface over what a machine has: the swarm (encrypted, its members come and go), MPI (an
// existing cluster), NCCL (GPUs of one). Calls begin at once and end in the background: several may
// be under way. On one channel all members call the same operations in the same order; different
// channels, and point-to-point, know nothing of each other. All members get the same bits.
//
// Where it stands: train's EngineExchange runs a whole training on one. Threads: one owner.
// Fails: in Work::wait(): kAborted where the group has changed (the swarm: settle() and call
// again), kTimeout after the call's limit, kInvalidArgument for calls that do not fit together.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/engine/group_core.h"

namespace weft {

struct CallOptions {
  std::uint16_t channel = 0;
  Priority priority = Priority::kNormal;
  // From the call to its end.
  Duration limit = std::chrono::seconds(60);
  // Engines that cannot round on the way use f32.
  WirePrecision precision = WirePrecision::kF32;
};

// A call under way. What it was given must live until it has ended. Its destructor waits for that.
class Work {
 public:
  virtual ~Work() = default;
  virtual bool done() = 0;
  // Its end; kTimeout if it has not come after `limit`: it goes on, wait again.
  virtual Status wait(Duration limit) = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;
  // "swarm", "mpi", "nccl".
  virtual std::string_view name() const = 0;
  // This process's place in the group, and its size, as of the last settle().
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Waits until this process is a member of a group, and takes that one over. The members must
  // agree by other means when to use it.
  virtual Status settle(Duration /*limit*/) { return {}; }

  // This member cannot go on and the others must not wait for it: MPI's end with the job, a swarm's
  // learn it from the view.
  virtual void abandon() {}

  // output = the sum of the inputs; may be the input itself. Both of one size.
  virtual std::unique_ptr<Work> all_reduce(std::span<const float> input, std::span<float> output,
                                           const CallOptions& options) = 0;
  // output = part `rank` of the sum; input: size() times as long.
  virtual std::unique_ptr<Work> reduce_scatter(std::span<const float> input,
                                               std::span<float> output,
                                               const CallOptions& options) = 0;
  // output = all inputs by rank, size() times as long as the input. Bits are not touched.
  virtual std::unique_ptr<Work> all_gather(std::span<const float> input, std::span<float> output,
                                           const CallOptions& options) = 0;
  // values = the root's. Bits are not touched.
  virtual std::unique_ptr<Work> broadcast(std::span<float> values, int root,
                                          const CallOptions& options) = 0;
  // Ends when all have begun it.
  virtual std::unique_ptr<Work> barrier(const CallOptions& options) = 0;
  // The counterpart of receive() at `to`, of the same length.
  virtual std::unique_ptr<Work> send(std::span<const float> values, int to,
                                     const CallOptions& options) = 0;
  virtual std::unique_ptr<Work> receive(std::span<float> values, int from,
                                        const CallOptions& options) = 0;
};

// A call that ended before it began.
std::unique_ptr<Work> ended_work(Status status);

}  // namespace weft
