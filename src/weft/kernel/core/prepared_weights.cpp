#include "weft/kernel/core/prepared_weights.h"

#include <algorithm>

namespace weft {
namespace {

// Kernels get the present one from here: it would otherwise be a parameter of every operation.
PreparedWeights*& present_weights() {
  // One thread alone sees it. NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static thread_local PreparedWeights* weights = nullptr;
  return weights;
}

}  // namespace

PreparedWeights::Use::Use(PreparedWeights* weights) : before_(present_weights()) {
  present_weights() = weights;
}
PreparedWeights::Use::~Use() { present_weights() = before_; }

PreparedWeights::PreparedWeights(std::span<const Array> weights, WeightPrecision precision)
    : precision_(precision), weights_(weights.begin(), weights.end()) {
  for (const Array& weight : weights_) storages_.insert(weight.storage()->id());
}

WeightPrecision PreparedWeights::precision() {
  const PreparedWeights* const present = present_weights();
  return present == nullptr ? WeightPrecision::kF32 : present->precision_;
}

bool PreparedWeights::keeps(const Array& weight) {
  const PreparedWeights* const present = present_weights();
  return present != nullptr && weight.is_contiguous() &&
         present->storages_.contains(weight.storage()->id());
}

std::shared_ptr<const void> PreparedWeights::find_form(const Array& weight, WeightForm form) {
  const PreparedWeights* const present = present_weights();
  if (present == nullptr || !weight.is_contiguous()) return nullptr;
  const auto found = present->entries_.find(weight.raw_data());
  if (found == present->entries_.end()) return nullptr;
  for (const Entry& entry : found->second) {
    if (entry.form == form && entry.shape == weight.shape() &&
        entry.storage == weight.storage()->id() && entry.version == weight.storage()->version()) {
      return entry.value;
    }
  }
  return nullptr;
}

void PreparedWeights::keep(const Array& weight, WeightForm form,
                           std::shared_ptr<const void> value) {
  if (!keeps(weight)) return;
  std::vector<Entry>& entries = present_weights()->entries_[weight.raw_data()];
  std::erase_if(entries, [&](const Entry& entry) {
    return entry.form == form && entry.shape == weight.shape();
  });
  entries.push_back({form, weight.shape(), weight.storage()->id(), weight.storage()->version(),
                     std::move(value)});
}

}  // namespace weft
