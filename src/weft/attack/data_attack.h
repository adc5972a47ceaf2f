// DataAttack: what a member that lies does to the samples that it trains on.
//
// Its updates are honest ones of other data, so that no check of its work finds it. A text names
// one with its options: "label_flip", "label_swap:from=1:to=7", "backdoor:to=7:size=3".
//
// IMPLEMENTATION: labels turned around as in Karimireddy, He and Jaggi, "Learning from history for
// Byzantine robust optimization", ICML 2021; two classes for each other as in Fung, Yoon and
// Beschastnikh, "The limitations of federated learning in Sybil settings", RAID 2020; the patch in
// a corner as in Gu, Dolan-Gavitt and Garg, "BadNets", 2017.
//
// For tests and simulations. Where it stands: sim/mix/poisoned_members.h.
// Threads: immutable once parsed. Fails: kInvalidArgument for data that the attack does not fit.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "weft/base/option.h"
#include "weft/base/status.h"
#include "weft/base/text/plugin_text.h"
#include "weft/data/batch.h"

namespace weft {

struct DataAttackDef {
  std::string_view name;
  // One sentence for help pages, with the source.
  std::string_view summary;
  std::span<const Option> options = {};
  // All attackers are one person's and send the same.
  bool sybils = false;
  // How many classes the labels need to have.
  std::int64_t (*classes_least)(std::span<const double> options) = nullptr;
  // The label in place of `label`.
  std::int64_t (*label)(std::span<const double> options, std::int64_t label,
                        std::int64_t classes) = nullptr;
  // Whether success is measured with samples of this label; null: with those of any that changes.
  bool (*is_target)(std::span<const double> options, std::int64_t label) = nullptr;
  // Which labels attackers get all samples of; null: none.
  bool (*collects)(std::span<const double> options, std::int64_t label) = nullptr;
  // The width in pixels of a white square in the corner of changed images; null: images stay.
  std::int64_t (*patch)(std::span<const double> options) = nullptr;
  // The share of the samples that change.
  double (*share)(std::span<const double> options) = nullptr;
};

class DataAttack {
 public:
  // kInvalidArgument for an unknown name (says the nearest), or an option that it lacks.
  static Result<DataAttack> parse(std::string_view text);
  // Whether the text begins with the name of one.
  static bool knows(std::string_view text);

  // As it was parsed, without options that have their default.
  std::string text() const { return plugin_.text(); }
  bool attackers_are_alike() const { return plugin_.def->sybils; }
  // Whether attackers have all samples of this label, beside their own.
  bool collects(std::int64_t label) const;

  // Changes samples of a batch to train on; `classes`: of the data set.
  Status poison(Batch& batch, std::int64_t classes) const;
  // Makes a batch of the test set to one that measures success: the samples that the attack is for
  // are attacked, and all others have no label (kIgnoredLabel). Returns how many are attacked.
  Result<std::int64_t> aim(Batch& batch, std::int64_t classes) const;

 private:
  Status check(const Batch& batch, std::int64_t classes) const;
  void mark(Batch& batch, const std::vector<bool>& rows) const;

  Plugin<DataAttackDef> plugin_;
};

// All of them, by name.
std::span<const DataAttackDef* const> data_attacks();

}  // namespace weft
