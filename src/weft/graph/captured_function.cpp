#include "weft/graph/captured_function.h"

#include <algorithm>
#include <utility>

#include "weft/array/launch.h"

namespace weft {

CapturedFunction::CapturedFunction(Function function, const CaptureOptions& options,
                                   std::size_t graphs_max)
    : function_(std::move(function)), options_(options), graphs_max_(graphs_max) {}

std::vector<Array> CapturedFunction::call(std::span<const Array> inputs) const {
  const std::vector<Tensor> tensors(inputs.begin(), inputs.end());
  std::vector<Array> results;
  for (const Tensor& result : function_(tensors)) {
    const Array& value = result.array();
    const bool is_view = std::any_of(inputs.begin(), inputs.end(), [&](const Array& input) {
      return value.defined() && input.storage() == value.storage();
    });
    // A view would stay one of the inputs of the first call.
    results.push_back(is_view ? value.strided().clone() : value);
  }
  return results;
}

CapturedFunction::Entry* CapturedFunction::find(std::span<const Array> inputs,
                                                const std::string& variant) {
  const auto fits = [&](const Entry& entry) {
    if (entry.variant != variant || entry.inputs.size() != inputs.size()) return false;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Array& bound = entry.inputs[i];
      if (bound.shape() != inputs[i].shape() || bound.dtype() != inputs[i].dtype()) return false;
    }
    return true;
  };
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (!fits(*entry)) continue;
    entries_.splice(entries_.begin(), entries_, entry);
    return &entries_.front();
  }
  return nullptr;
}

CapturedFunction::Entry& CapturedFunction::capture_entry(std::span<const Array> inputs,
                                                         const std::string& variant) {
  Entry entry;
  entry.variant = variant;
  // Memory of their own: two inputs may be one array, or part of what else the function reads.
  for (const Array& input : inputs) entry.inputs.push_back(input.clone());
  entry.graph = capture([&] { entry.results = call(entry.inputs); }, options_);
  ++captures_;
  entries_.push_front(std::move(entry));
  if (entries_.size() > graphs_max_) entries_.pop_back();
  return entries_.front();
}

const std::vector<Array>& CapturedFunction::operator()(std::span<const Array> inputs,
                                                       const std::string& variant) {
  if (current_recorder() != nullptr) {
    nested_results_ = call(inputs);
    return nested_results_;
  }
  Entry* const known = find(inputs, variant);
  if (known == nullptr) return capture_entry(inputs, variant).results;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Array input = inputs[i].contiguous();
    known->graph.rebind(known->inputs[i], input);
    known->inputs[i] = input;
  }
  known->graph.replay();
  return known->results;
}

}  // namespace weft
