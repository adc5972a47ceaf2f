#include "weft/mix/mix_returns.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "weft/base/check.h"

namespace weft {
namespace {

MixVector difference(std::span<const float> before, std::span<const float> after) {
  std::vector<float> delta(before.size());
  for (std::size_t i = 0; i < delta.size(); ++i) delta[i] = before[i] - after[i];
  return std::make_shared<const std::vector<float>>(std::move(delta));
}

}  // namespace

MixReturns::MixReturns(const MixMethod& method, std::uint32_t self, std::size_t elements,
                       std::uint32_t steps, const MixUnits& outputs)
    : method_(method), self_(self), elements_(elements), steps_(steps), outputs_(outputs) {
  WEFT_CHECK(!method_.outputs_only || outputs_.units > 0);
}

template <class Body>
void MixReturns::for_outputs(const Body& body) const {
  std::size_t at = 0;
  for (const MixUnitSlice& slice : outputs_.slices) {
    const std::size_t size = outputs_.units * slice.inner;
    body(slice.begin, at, size);
    at += size;
  }
}

std::size_t MixReturns::values_max() const {
  if (method_.local.gives_numbers()) return method_.local.numbers_max(steps_);
  if (!method_.outputs_only) return elements_;
  std::size_t sum = 0;
  for_outputs([&](std::size_t, std::size_t, std::size_t size) { sum += size; });
  return sum;
}

bool MixReturns::fits(std::uint32_t from, std::uint64_t base, const MixVector& values) const {
  if (values == nullptr) return false;
  if (method_.local.gives_numbers()) {
    const std::uint32_t steps = method_.trigger.steps(base, steps_);
    return !values->empty() && values->size() <= method_.local.numbers_max(steps);
  }
  return values->size() == (from == self_ ? elements_ : values_max());
}

MixVector MixReturns::of_work(const MixWork& done, MixVector made) const {
  const bool served = method_.plan.style() == MixStyle::kServer;
  if (!served || method_.local.is_anchor(done.version, self_)) return made;
  return difference(*done.model, *made);
}

MixVector MixReturns::for_neighbours(const MixVector& made) const {
  if (!method_.outputs_only) return made;
  std::vector<float> values(values_max());
  for_outputs([&](std::size_t where, std::size_t at, std::size_t size) {
    std::copy_n(made->data() + where, size, values.data() + at);
  });
  return std::make_shared<const std::vector<float>>(std::move(values));
}

MixVector MixReturns::delta(std::uint32_t from, std::uint64_t base, const MixVector& values,
                            std::span<const float> reference, const MixVector& own) const {
  if (method_.plan.style() == MixStyle::kServer) return values;
  if (method_.outputs_only && from != self_) {
    std::vector<float> delta = *difference(reference, *own);
    for_outputs([&](std::size_t where, std::size_t at, std::size_t size) {
      for (std::size_t i = 0; i < size; ++i) {
        delta[where + i] = reference[where + i] - (*values)[at + i];
      }
    });
    return std::make_shared<const std::vector<float>>(std::move(delta));
  }
  if (!method_.local.gives_numbers()) return difference(reference, *values);
  std::vector<float> delta(reference.size());
  method_.local.replay(base, from, *values, delta);
  return std::make_shared<const std::vector<float>>(std::move(delta));
}

void MixReturns::keep_own(std::span<const float> own, std::span<float> combined) const {
  if (!method_.outputs_only) return;
  std::vector<float> mixed(combined.begin(), combined.end());
  std::ranges::copy(own, combined.begin());
  for_outputs([&](std::size_t where, std::size_t, std::size_t size) {
    std::copy_n(mixed.data() + where, size, combined.data() + where);
  });
}

}  // namespace weft
