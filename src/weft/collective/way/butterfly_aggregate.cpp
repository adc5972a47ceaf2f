// What a butterfly's owners do where an Aggregator takes the place of the sum.
#include <cstring>

#include "weft/collective/way/butterfly_collective.h"

namespace weft {

std::vector<std::span<const float>> ButterflyCollective::inputs_of(
    std::uint32_t index, std::vector<std::vector<float>>& memory) {
  const std::span<float> own = store_.values(index);
  memory.resize(peers_.size());
  std::vector<std::span<const float>> inputs;
  for (int rank = 0; rank < options_.size; ++rank) {
    if (Rank(rank) == options_.rank) {
      inputs.emplace_back(own);
      continue;
    }
    std::vector<float>& input = memory[static_cast<std::size_t>(rank)];
    input.resize(own.size());
    decode(store_.segment(index).precision, inbox_of(index, Rank(rank)), input);
    inputs.emplace_back(input);
  }
  return inputs;
}

void ButterflyCollective::combine(std::uint32_t index) {
  std::vector<std::vector<float>> memory;
  options_.aggregator.combine(inputs_of(index, memory), weights_, options_.aggregate_round,
                              store_.values(index));
  slots_[index].inbox.reset();
  if (gathers_) store_.round(index);
  take_final(index);
}

void ButterflyCollective::measure() {
  std::vector<std::vector<float>> memory;
  for (; measured_ < store_.count(); ++measured_) {
    if (!owns(measured_)) continue;
    const bool whole =
        slots_[measured_].count + 1 == options_.size && store_.input_ready(measured_);
    if (!whole) return;
    tables_[static_cast<std::size_t>(options_.rank.value())].measure(inputs_of(measured_, memory));
  }
  table_here_[static_cast<std::size_t>(options_.rank.value())] = true;
  for (int step = 1; step < options_.size; ++step) {
    const Rank to((options_.rank.value() + step) % options_.size);
    if (owns_any(to)) enqueue(to, 0, CollectiveOp::kDistances);
  }
  combine_all();
}

void ButterflyCollective::combine_all() {
  if (table_here_ != owners_) return;
  Distances sum(options_.size);
  for (const Distances& table : tables_) sum.add(table);
  weights_ = options_.aggregator.select(sum, options_.aggregate_round);
  for (std::uint32_t index = 0; index < store_.count(); ++index) {
    if (owns(index)) combine(index);
  }
}

MutableByteSpan ButterflyCollective::table_of(Rank rank) {
  const std::span<double> values = tables_[static_cast<std::size_t>(rank.value())].values();
  return {reinterpret_cast<std::uint8_t*>(values.data()), values.size_bytes()};
}

Status ButterflyCollective::take_table(Rank from, ByteSpan body) {
  const MutableByteSpan out = table_of(from);
  if (out.data() != body.data()) std::memcpy(out.data(), body.data(), body.size());
  table_here_[static_cast<std::size_t>(from.value())] = true;
  combine_all();
  return {};
}

SharedBytes ButterflyCollective::shared_table() {
  const MutableByteSpan table = table_of(options_.rank);
  return SharedBytes(Bytes(table.begin(), table.end()));
}

}  // namespace weft
