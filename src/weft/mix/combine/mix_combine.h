// MixCombine: how the deltas of several members become one.
//
// A text names one: a rule of this family ("mean", "memory", "foolsgold"), or rules of the robust
// family ("nnm trimmed_mean"; weft/aggregate), with which the sum of the weights scales the result.
// Each file NAME_combine.cpp is one of this family.
//
// A delta is what its sender's model has moved by, with the opposite sign: before minus after.
// Where it stands: MixCore, between trigger and outer step. Threads: parsed: immutable; a state has
// one owner. Memory: that of the state: none, or as the rule says.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/aggregate/aggregator.h"
#include "weft/base/status.h"
#include "weft/base/text/plugin_text.h"
#include "weft/mix/combine/mix_history.h"

namespace weft {

struct MixCombineDef;  // mix_combine_def.h
class MixJudge;        // mix_judge.h
class MixProbe;        // mix_probe.h
struct MixUnits;       // mix_probe.h

// One tensor's elements [begin, end) of the flat vector.
struct MixTensor {
  std::size_t begin = 0;
  std::size_t end = 0;
  // Trained by gradients; false for buffers such as running statistics.
  bool trained = true;
};

struct MixInput {
  // The model that the deltas are added up for: a sender's model is this minus its delta, where
  // neighbours mix.
  std::span<const float> reference;
  // By member, each once or more; `from` and `weights` are as many.
  std::vector<std::span<const float>> deltas;
  std::vector<std::uint32_t> from;
  std::vector<double> weights;
  std::span<const MixTensor> tensors;
  std::uint32_t members = 1;
  // That of `reference`, and those that the deltas were trained from, as many as deltas.
  std::uint64_t version = 0;
  std::vector<std::uint64_t> bases = {};
  // Which deltas are gradients of anchors instead (MixLocal::is_anchor), as many as deltas; empty:
  // none is.
  std::vector<bool> anchors = {};
  // Who combines; where neighbours mix, one of `from`.
  std::uint32_t self = 0;
  // Null where the rule needs none.
  MixProbe* probe = nullptr;
  // Null where the rule needs none: the combiner's own; and the model's output layer, whose units
  // are the classes, of slices without an outer part.
  MixJudge* judge = nullptr;
  const MixUnits* outputs = nullptr;
};

class MixCombineState {
 public:
  virtual ~MixCombineState() = default;
  // REQUIRES: at least one delta; all of one length.
  virtual void combine(const MixInput& input, std::span<float> out) = 0;
  // What members are given beside the next version (MixCombine::gives_beside); null before the
  // first combination.
  virtual std::shared_ptr<const std::vector<float>> beside() const { return nullptr; }
  // What is reported about another member to `neighbour`, beside the model of `version`
  // (MixCombine::tells_histories); nothing where nobody is known.
  virtual std::optional<MixHistory> told_to(std::uint32_t /*neighbour*/,
                                            std::uint64_t /*version*/) {
    return std::nullopt;
  }
  // What `neighbour` has reported. It may be anything but a model of another length or of no
  // member.
  virtual void hear(std::uint32_t /*neighbour*/, const MixHistory& /*history*/) {}
};

class MixCombine {
 public:
  // `liars`: for robust rules.
  static Result<MixCombine> parse(std::string_view text, int liars);
  std::string text() const;
  // kInvalidArgument where the rule does not tolerate the liars among `inputs` members.
  Status check(int inputs) const;
  // Whether it is of the robust family, which sees all deltas alike.
  bool is_robust() const { return plugin_.def == nullptr; }
  // Whether it takes a number of liars.
  bool counts_liars() const;
  // Whether a combiner keeps something of earlier versions.
  bool remembers() const;
  // Whether it takes deltas from a given version, not models of neighbours.
  bool needs_server() const;
  // Whether it makes a vector that members are given beside the model.
  bool gives_beside() const;
  // Whether it asks the model what its units compute.
  bool needs_probe() const;
  // Whether it judges output layers by samples of the combiner's own.
  bool needs_judge() const;
  // Whether neighbours report others' models to each other.
  bool tells_histories() const;
  std::unique_ptr<MixCombineState> make(std::uint64_t seed) const;

 private:
  // Null where a robust rule was named.
  Plugin<MixCombineDef> plugin_;
  Aggregator rule_;
  int liars_ = 0;
};

// out = the weighted sum, added up in the order of the deltas, in f64 and rounded once.
void weighted_sum(std::span<const std::span<const float>> deltas, std::span<const double> weights,
                  std::span<float> out);

// The rules of this family, by name.
std::span<const MixCombineDef* const> mix_combines();

}  // namespace weft
