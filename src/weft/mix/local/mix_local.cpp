#include "weft/mix/local/mix_local.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "weft/base/check.h"
#include "weft/mix/local/mix_local_def.h"

namespace weft {

#define WEFT_PLUGIN(name) extern const MixLocalDef name##_local;
#include "local_table.inc"
#undef WEFT_PLUGIN

static constexpr const MixLocalDef* kLocals[] = {
#define WEFT_PLUGIN(name) &name##_local,
#include "local_table.inc"
#undef WEFT_PLUGIN
};

std::span<const MixLocalDef* const> mix_locals() { return kLocals; }

MixLocal::MixLocal() : MixLocal(*parse("sgd", 0)) {}

Result<MixLocal> MixLocal::parse(std::string_view text, std::uint64_t seed) {
  WEFT_TRY_ASSIGN(Plugin<MixLocalDef> plugin, parse_plugin<MixLocalDef>(text, kLocals));
  return MixLocal(std::move(plugin), seed);
}

std::string MixLocal::text() const { return plugin_.text(); }

bool MixLocal::gives_gradients() const { return plugin_.def->gives_gradients; }

bool MixLocal::has_beside() const { return plugin_.def->is_anchor != nullptr; }

bool MixLocal::takes_beside(std::uint64_t version, std::uint32_t member) const {
  return has_beside() && !is_anchor(version, member);
}

bool MixLocal::is_anchor(std::uint64_t version, std::uint32_t member) const {
  return has_beside() && plugin_.def->is_anchor({plugin_.options, seed_, version, member});
}

bool MixLocal::gives_numbers() const { return plugin_.def->numbers != nullptr; }

std::size_t MixLocal::numbers_max(std::uint32_t steps) const {
  WEFT_CHECK(gives_numbers());
  return std::max(1U, steps) * plugin_.def->numbers->each_step(plugin_.options);
}

Bytes MixLocal::pack(std::span<const float> numbers) const {
  WEFT_CHECK(gives_numbers());
  Bytes bytes;
  bytes.reserve(numbers.size());
  for (const float number : numbers) bytes.push_back(plugin_.def->numbers->pack(number));
  return bytes;
}

Result<std::vector<float>> MixLocal::unpack(ByteSpan bytes) const {
  WEFT_CHECK(gives_numbers());
  if (bytes.empty()) return corrupt(text() + ": expected at least one number, got none");
  std::vector<float> numbers(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (plugin_.def->numbers->unpack(bytes[i], numbers[i])) continue;
    return corrupt(fmt::format("{}: expected a byte that stands for a number, got {:#04x} at {}",
                               text(), bytes[i], i));
  }
  return numbers;
}

void MixLocal::replay(std::uint64_t version, std::uint32_t member, std::span<const float> numbers,
                      std::span<float> delta) const {
  WEFT_CHECK(gives_numbers() && !numbers.empty());
  plugin_.def->numbers->replay({plugin_.options, seed_, version, member}, numbers, delta);
}

Result<MixLoss> MixLocal::run(const MixLocalWork& work, MixLearner& learner,
                              std::vector<float>& model) const {
  WEFT_CHECK(model.size() == learner.elements());
  const std::vector<float> given = model;
  MixLocalInput input = {plugin_.options, work.member, work.first_step,
                         learner,         given,       work.version,
                         seed_,           work.beside, is_anchor(work.version, work.member)};
  if (plugin_.def->run != nullptr) return plugin_.def->run(input, work.steps, model);
  std::vector<float> gradient(model.size());
  MixLoss sums;
  for (std::uint32_t i = 0; i < work.steps; ++i) {
    input.step = work.first_step + i;
    WEFT_TRY_ASSIGN(const MixLoss loss, plugin_.def->gradient(input, model, gradient));
    WEFT_TRY(learner.update(work.member, input.step, gradient, model));
    sums.add(loss);
  }
  return sums;
}

}  // namespace weft
