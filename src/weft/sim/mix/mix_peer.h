// MixPeer: one virtual machine of a method of loose exchange: the real MixNode, real frames, and
// the real model's work, which takes virtual time.
//
// A local step takes its samples over the machine's speed; combining takes no time. Links are taken
// as proved, and the members' numbers are given.
//
// Where it stands: MixWorld owns one for each machine. Threads: one owner.
// Fails: failure() says why it goes on no more.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "weft/base/status.h"
#include "weft/mix/mix_node.h"
#include "weft/sim/liar/liar.h"
#include "weft/sim/machine/virtual_peer.h"
#include "weft/train/step/mix_learner.h"

namespace weft::sim {

struct MixPeerSettings {
  // Without what a liar sends.
  MixNodeOptions node;
  double samples_per_second = 1000;
  // What it sends in place of what it computed; nothing: that.
  std::optional<Liar> liar;
  // Neither that nor false data.
  bool honest = true;
  // After each combination that this peer has made.
  std::function<void(const MixCombined& made)> on_combined;
  // Whether the whole run has come to its end.
  std::function<bool()> run_is_over;
  // For a member that comes back: the model that it had, and the steps that it had taken. It links
  // to `greeted` at once, so that they know of it.
  MixVector kept = {};
  std::uint64_t steps = 0;
  std::vector<std::uint32_t> greeted = {};
};

class MixPeer final : public VirtualPeer {
 public:
  // Borrows `network` and `learner`, which must outlive this.
  MixPeer(SimNetwork& network, MixPeerSettings settings, MixTrainedLearner& learner);
  ~MixPeer() override;

  // Once all machines run.
  void start();
  const MixCore& core() const { return node_->core(); }
  bool honest() const { return settings_.honest; }
  bool finished() const override { return node_ && (core().over() || settings_.run_is_over()); }
  std::uint64_t steps() const { return steps_; }
  // From now on it only passes on and combines: its work is to take no step.
  void lose_data() { has_data_ = false; }
  bool has_data() const { return has_data_; }
  const Status& failure() const override { return failure_; }

 private:
  // What the network reports.
  class Events;

  TransportHandler& handler() override;
  void on_time() override { stirred_ = true; }
  TimePoint next_deadline() const override {
    return node_ ? node_->next_deadline().value_or(TimePoint::max()) : TimePoint::max();
  }
  void settle() override;

  void work(const MixWork& work);
  void fail(Status why);

  MixPeerSettings settings_;
  MixTrainedLearner& learner_;
  std::unique_ptr<Events> events_;
  std::unique_ptr<MixNode> node_;
  std::uint64_t steps_ = 0;
  bool has_data_ = true;
  // Something has happened that the core has not settled.
  bool stirred_ = false;
  bool settles_ = false;
  Status failure_;
};

}  // namespace weft::sim
