#include "weft/autograd/check/anomaly.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "weft/autograd/anomaly_check.h"
#include "weft/autograd/node_access.h"
#include "weft/autograd/op_trace.h"

namespace weft {
namespace {

struct Watch {
  std::optional<Anomalies> anomalies;
  internal::HistoryCollector* collector = nullptr;
};
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
constinit thread_local Watch state;

void update() { internal::update_watching(); }

// "element 3 is nan" of the first value that `is_wrong`.
template <class Wrong>
std::optional<std::string> first_of(const Array& array, const Wrong& is_wrong) {
  if (!array.defined() || !is_floating(array.dtype())) return std::nullopt;
  const Array values = array.contiguous().to(DType::kF64);
  const std::span<const double> all = values.flat<double>();
  const auto found = std::find_if(all.begin(), all.end(), is_wrong);
  if (found == all.end()) return std::nullopt;
  return "element " + std::to_string(found - all.begin()) + " is " + std::to_string(*found);
}

std::optional<std::string> infinity_of(const Array& array) {
  return first_of(array, [](double value) { return std::isinf(value); });
}

std::optional<std::string> anomaly_of(const Array& array) {
  return first_of(array, [](double value) {
    return state.anomalies == Anomalies::kNan ? std::isnan(value) : !std::isfinite(value);
  });
}

// What the operation `name` has made that was not in its operands.
std::optional<std::string> anomaly_made(const char* name, const Array& output,
                                        std::span<const Tensor* const> inputs) {
  // What was written in place shows its new values among the operands.
  const std::string_view operation(name);
  const bool writes = operation.ends_with('_');
  const auto had = [&](const Tensor* input) {
    const Array& array = input->array();
    if (writes && array.defined() && array.storage() == output.storage()) return false;
    return infinity_of(array).has_value();
  };
  if (operation != "masked_fill" && std::none_of(inputs.begin(), inputs.end(), had)) {
    return anomaly_of(output);
  }
  return first_of(output, [](double value) { return std::isnan(value); });
}

std::function<std::string()>& call_site() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static auto& site = *new std::function<std::string()>();  // tidy: allow new: outlives all threads
  return site;
}

std::string site_text(const char* before, const std::string& site) {
  return site.empty() ? "" : before + site;
}

std::string describe(const Array& array) {
  if (!array.defined()) return "none";
  return to_string(array.shape()) + " " + std::string(to_string(array.dtype()));
}

}  // namespace

AnomalyMode::AnomalyMode(Anomalies anomalies) : before_(anomaly_mode()) {
  set_anomaly_mode(anomalies);
}
AnomalyMode::~AnomalyMode() { set_anomaly_mode(before_); }

std::optional<Anomalies> anomaly_mode() { return state.anomalies; }

void set_anomaly_mode(std::optional<Anomalies> anomalies) {
  state.anomalies = anomalies;
  update();
}

void set_call_site(std::function<std::string()> site) { call_site() = std::move(site); }

namespace internal {

void update_watching() {
  watching = state.anomalies.has_value() || state.collector != nullptr || current_trace != nullptr;
}

HistoryCollector::HistoryCollector() : before_(state.collector) {
  state.collector = this;
  update();
}

HistoryCollector::~HistoryCollector() {
  state.collector = before_;
  update();
}

void HistoryCollector::note(const Tensor& tensor) {
  const auto same = [&](const Tensor& other) {
    return NodeAccess::raw_node(other) == NodeAccess::raw_node(tensor);
  };
  if (std::none_of(tensors_.begin(), tensors_.end(), same)) tensors_.push_back(tensor);
}

void watch(const char* name, const Array& output, std::span<const Tensor* const> inputs) {
  if (current_trace != nullptr) current_trace->note(name, output, inputs);
  if (state.collector != nullptr) {
    for (const Tensor* input : inputs) {
      if (input->requires_grad()) state.collector->note(*input);
    }
  }
  if (!state.anomalies) return;
  const std::optional<std::string> made = anomaly_made(name, output, inputs);
  if (!made) return;
  std::string text = std::string("[anomaly] the forward of \"") + name + "\" gave " +
                     describe(output) + " of which " + *made;
  const std::string at = call_site() ? site_text("; called at ", call_site()()) : "";
  if (inputs.empty()) throw AnomalyError(text + at);
  text += "; inputs:";
  bool clean = true;
  for (const Tensor* input : inputs) {
    const std::optional<std::string> had = anomaly_of(input->array());
    clean = clean && !had;
    text += " " + describe(input->array()) + (had ? " (" + *had + ")" : "");
  }
  throw AnomalyError(text + (clean ? ", all finite" : "") + at);
}

void note_call_site(Node& node) {
  if (state.anomalies && call_site()) NodeAccess::extras(node).call_site = call_site()();
}

void check_input_gradients(Node& node) {
  if (!state.anomalies) return;
  for (int i = 0; i < NodeAccess::input_count(node); ++i) {
    Node* const input = NodeAccess::input(node, i);
    if (input == nullptr) continue;
    const std::optional<std::string> made = anomaly_of(NodeAccess::gradient(*input));
    if (!made) continue;
    const NodeExtras* const extras = NodeAccess::extras_if_any(node);
    throw AnomalyError(std::string("[anomaly] the backward of \"") + NodeAccess::name(node) +
                       "\" (output " + to_string(NodeAccess::shape(node)) +
                       ") gave a gradient of input " + std::to_string(i) + " " +
                       describe(NodeAccess::gradient(*input)) + " of which " + *made +
                       site_text("; called at ", extras != nullptr ? extras->call_site : ""));
  }
}

}  // namespace internal
}  // namespace weft
