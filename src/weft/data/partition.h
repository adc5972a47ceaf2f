// Partition: which samples of a data set each of several members has for itself.
//
// A text names one:
//
//   shared                every member draws from all samples
//   equal                 parts of equal size, drawn
//   dirichlet:alpha=0.5   of each label the members' shares are drawn; a small alpha gives most of
//   a
//                         label to few members
//   labels:count=2        sorted by label, cut into `count` pieces for each member, which gets that
//                         many of them
//   quantity:alpha=0.5    the sizes of the members' parts are drawn, and the samples are
//
// Every other than "shared" gives each sample to exactly one member, and each member at least one.
// IMPLEMENTATION: Hsu, Qi and Brown, "Measuring the effects of non-identical data distribution for
// federated visual classification", 2019 (dirichlet); McMahan et al., "Communication-efficient
// learning of deep networks from decentralized data", AISTATS 2017, section 3 (labels); Li, Diao,
// Chen and He, "Federated learning on non-IID data silos", ICDE 2022 (quantity).
// Threads: immutable once parsed. The same text, labels and seed give the same parts on every
// machine.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/text/plugin_text.h"

namespace weft {

struct PartitionDef;

class Partition {
 public:
  static Result<Partition> parse(std::string_view text);
  std::string text() const;
  bool is_shared() const;
  // Whether it needs the samples' labels; otherwise it uses only their number.
  bool needs_labels() const;
  // The samples of each of `members`, in ascending order. `labels`: one a sample, any numbers.
  // kInvalidArgument for fewer samples (for labels:count=c, c times fewer) than members. REQUIRES:
  // not shared, members >= 1.
  Result<std::vector<std::vector<std::int64_t>>> parts(std::span<const std::int64_t> labels,
                                                       std::size_t members,
                                                       std::uint64_t seed) const;

 private:
  Plugin<PartitionDef> plugin_;
};

// All partitions, by name, with their options: for help pages.
std::span<const PartitionDef* const> partitions();

// For the table of the kinds.
struct PartitionInput {
  std::span<const std::int64_t> labels;
  std::size_t members = 1;
  std::uint64_t seed = 0;
  std::span<const double> options;
};

struct PartitionDef {
  std::string_view name;
  // One sentence for help pages, with the source.
  std::string_view summary;
  std::span<const Option> options = {};
  bool needs_labels = false;
  // The least number of samples for so many members; null: one each.
  std::size_t (*least)(const PartitionInput& input) = nullptr;
  // Each sample to one member, in any order; some members may have none yet. Null: shared.
  std::vector<std::vector<std::int64_t>> (*split)(const PartitionInput& input) = nullptr;
};

}  // namespace weft
