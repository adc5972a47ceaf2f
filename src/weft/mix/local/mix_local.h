// MixLocal: what a member does with a model that it was given, before it returns it.
//
// A text names one with its options: "sgd", "prox:mu=0.01", "sam:rho=0.05". Each file
// NAME_local.cpp is one. Most take `steps` steps of the member's own optimizer, whichever the
// recipe names, and differ in the gradients that they give it; the others do all of it themselves.
//
// What a member returns is a model, as a rule. Two kinds of local updates return something else:
//   numbers     spsa: one byte each, of which replay() makes the same delta at every member
//   gradients   gradient: always; amd: where the member is an anchor of the version
//
// Where it stands: the owner of a MixCore calls it for each piece of work. Threads: immutable once
// parsed. Memory: up to two vectors while it runs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/base/text/plugin_text.h"
#include "weft/mix/local/mix_learner.h"

namespace weft {

struct MixLocalDef;  // mix_local_def.h

struct MixLocalWork {
  std::uint32_t member = 0;
  // The member's steps so far, over all its work; and those to take.
  std::uint64_t first_step = 0;
  std::uint32_t steps = 1;
  // That the model is of.
  std::uint64_t version = 0;
  // What the combiner gives beside the model, where takes_beside().
  std::span<const float> beside = {};
};

class MixLocal {
 public:
  // "sgd".
  MixLocal();
  // `seed`: the run's, by which all members draw alike.
  static Result<MixLocal> parse(std::string_view text, std::uint64_t seed);
  std::string text() const;
  // Whether run() makes a gradient of the model instead of a model.
  bool gives_gradients() const;
  // Whether members are given a vector beside the model in some versions; and `member` in this one.
  bool has_beside() const;
  bool takes_beside(std::uint64_t version, std::uint32_t member) const;
  // Whether `member` returns a gradient in this version, though others return models.
  bool is_anchor(std::uint64_t version, std::uint32_t member) const;
  // Whether run() makes numbers instead of a model; and how many at most of so many steps.
  bool gives_numbers() const;
  std::size_t numbers_max(std::uint32_t steps) const;
  // Numbers as bytes, and back. Fails: kCorrupt for none, and for a byte that pack() does not give.
  // REQUIRES, like replay(): gives_numbers().
  Bytes pack(std::span<const float> numbers) const;
  Result<std::vector<float>> unpack(ByteSpan bytes) const;
  // The delta that the numbers of `member` for `version` stand for; the same bits everywhere.
  void replay(std::uint64_t version, std::uint32_t member, std::span<const float> numbers,
              std::span<float> delta) const;

  // Makes of `model`, which is as it was given, what is returned; on failure it means nothing.
  Result<MixLoss> run(const MixLocalWork& work, MixLearner& learner,
                      std::vector<float>& model) const;

 private:
  MixLocal(Plugin<MixLocalDef> plugin, std::uint64_t seed)
      : plugin_(std::move(plugin)), seed_(seed) {}

  Plugin<MixLocalDef> plugin_;
  std::uint64_t seed_ = 0;
};

// All local updates, by name.
std::span<const MixLocalDef* const> mix_locals();

}  // namespace weft
