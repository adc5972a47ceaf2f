// SwarmTrainer: a program's own model, trained among peers: each step is one step of all members.
//
//   auto trainer = SwarmTrainer::found(arena, *optimizer, {.program = "spiral 1"}).value();
//   while (trainer->next().value()) {
//     const Tensor loss = ...;          // of this member's samples: rank() of members()
//     backward(loss);
//     trainer->step({.weight = samples, .loss = loss.item()}).value();
//   }
//   Status left = trainer->leave();
//
// A step moves the parameters by the mean of all members' gradients, weighted, and a model's
// running statistics to the mean of theirs, so that all hold the same parameters and optimizer
// state bit for bit; hashes are compared after each round. A member that is lost is left out, and
// the round is run again with the gradients of the others; their programs do not notice it. A
// newcomer gets the state inside next(), and so does a member that fell behind.
//
// Where it stands: the turns of collective/swarm.h, done for a ParameterArena and an Optimizer.
// Threads: next(), step() and leave() are for one thread, which also owns arena and optimizer;
// ticket(), status() and take_events() are for any. The network has its own thread, which reads the
// state for newcomers only while step() waits.
// Fails: kInvalidArgument where a call is wrong, or the members' programs differ; kUnavailable if
// this member was not admitted, was removed or has left; kTimeout after `timeout`; kCorrupt if its
// state differs from the others'. After next() or step() has failed (except by a wrong call), or
// has thrown an exception of `before_update`, the member is no longer in the group: join again.
// Every wait ends within `timeout`. Signals such as Ctrl-C are the program's: see `stop`.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/array/arena/parameter_arena.h"
#include "weft/base/status.h"
#include "weft/collective/swarm/member_options.h"
#include "weft/optim/optimizer.h"

namespace weft {

struct SwarmTrainerOptions {
  // One line of text with the program, its version and everything else that must be equal at all
  // members, such as how they split their data. A peer with another one is not admitted.
  std::string program;
  // A text of the founder for the joiners, at most 64 KiB: see settings().
  std::string settings = {};
  // The founder's options apply: a joiner's are ignored.
  SwarmGroupOptions group = {};
  SwarmMemberOptions member = {};
  // The maximum duration of one call of next() or step().
  std::chrono::milliseconds timeout = std::chrono::minutes(10);
  // Called before each update with the mean gradients, in the arena's layout, also for rounds that
  // others computed: clips them, sets the learning rate by optimizer.steps(). It must depend only
  // on its argument and the optimizer, so that it has the same effect at all members.
  std::function<void(std::span<float> gradients)> before_update = {};
  // Returns true when this member should leave: next() then returns false, at the latest after 200
  // ms. It is not called inside step(), for which others wait.
  std::function<bool()> stop = {};
};

// This member's part of a round.
struct SwarmPart {
  // The weight of its gradients in the mean, as the number of its samples; 0: none. Finite.
  double weight = 1;
  double loss = 0;
};

// A round of the whole group.
struct SwarmStep {
  // False where this member came too late, or its gradients were computed from parameters that have
  // been replaced: the group went on without them.
  bool counted = false;
  // The sum of all weights; at 0 nothing has moved.
  double weight = 0;
  // The weighted mean.
  double loss = 0;
};

struct SwarmTrainerStatus {
  std::string state;                 // "member", "joining", "changing view", "isolated", ...
  std::vector<std::string> members;  // their ids, by rank
  std::uint64_t view_changes = 0;
  std::uint64_t rounds_rerun = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
};

class SwarmTrainer {
 public:
  // Begins a group, whose state is that of `arena` and `optimizer`. Shares the arena's buffers;
  // borrows the optimizer, which must be of this arena and outlive this.
  static Result<std::unique_ptr<SwarmTrainer>> found(ParameterArena& arena, Optimizer& optimizer,
                                                     SwarmTrainerOptions options);
  // Asks in at the members of `ticket`; the state arrives inside next(). The same program must have
  // founded the group, with the same layout of parameters and the same optimizer.
  static Result<std::unique_ptr<SwarmTrainer>> join(const std::string& ticket,
                                                    ParameterArena& arena, Optimizer& optimizer,
                                                    SwarmTrainerOptions options);
  class Impl;
  // For found() and join().
  explicit SwarmTrainer(std::unique_ptr<Impl> impl);
  // Ends at once, as a crash would: the others see the links go down. leave() is the polite way.
  ~SwarmTrainer();
  SwarmTrainer(const SwarmTrainer&) = delete;
  SwarmTrainer& operator=(const SwarmTrainer&) = delete;

  // True: a round is to be computed, and the arena's gradients are zeroed for it. False: the last
  // round is done, or `stop` returned true.
  Result<bool> next();
  // Adds the arena's gradients to the round, waits for the others' and updates the state. REQUIRES:
  // next() was true, and forward and backward are done. Until then nothing else may change
  // parameters or optimizer state, except the running statistics of the forward pass.
  Result<SwarmStep> step(const SwarmPart& part = {});
  // Tells the others, who go on without this member; at most `limit`. Later calls do nothing.
  Status leave(std::chrono::milliseconds limit = std::chrono::seconds(10));

  // This member's place, from 0 on, among the members of the round that next() gave.
  int rank() const;
  int members() const;
  // Rounds in the state. It is the same at all members in one round, and so is everything derived
  // from it, such as the samples of a batch.
  std::uint64_t rounds_done() const;
  // The group's last round is done.
  bool finished() const;
  // The digits of the hash that members compare.
  std::string state_hash() const;
  // The founder's text.
  const std::string& settings() const;
  // This member's name, 64 hexadecimal digits.
  const std::string& id() const;

  // A ticket with which others can join for this time.
  Result<std::string> ticket(std::chrono::minutes valid_for = std::chrono::hours(24));
  Result<SwarmTrainerStatus> status();
  // The events since the last call, as sentences for people.
  std::vector<std::string> take_events();

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
