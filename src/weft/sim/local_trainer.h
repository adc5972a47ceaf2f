// LocalTrainer: a small model that takes local steps, as a member of a simulated swarm.
//
// The real Trainer, with rounds of several inner steps and an inner optimizer of its own. Its state
// depends on who took part in which round, so runs with faults are compared with each other and not
// with one machine alone.
// Threads: one owner. For tests.
#pragma once

#include <memory>
#include <vector>

#include "weft/base/status.h"
#include "weft/collective/scenario/test_trainer.h"
#include "weft/train/run/trainer.h"

namespace weft::sim {

// Rounds of `local_steps` inner steps; `overlap` as in the recipe.
Recipe local_recipe(std::uint64_t rounds, std::int64_t local_steps, bool overlap);

class LocalTrainer final : public TestTrainer {
 public:
  explicit LocalTrainer(const Recipe& recipe);

  std::uint64_t round() const override { return trainer_->rounds_done().value(); }
  std::size_t elements() const override;
  std::vector<float> shard(int rank, int members) const override;
  Bytes report(int rank, int members) const override;
  void hear(std::span<const Bytes> reports) override;
  void apply(std::span<const float> sums) override;
  StateHash hash() const override { return trainer_->hash(); }
  Bytes serialise() const override { return trainer_->encode("run"); }
  Status load(ByteSpan in) override { return trainer_->adopt(in); }
  // On the test set.
  double accuracy() const;

 private:
  SystemClock clock_;
  std::unique_ptr<Trainer> trainer_;
  // The report of the latest shard(), and that of the round that is applied next.
  mutable Bytes reported_;
  std::vector<Bytes> heard_;
};

}  // namespace weft::sim
