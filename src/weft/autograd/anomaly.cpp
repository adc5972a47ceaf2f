#include "weft/autograd/anomaly.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "weft/autograd/anomaly_check.h"
#include "weft/autograd/node_access.h"
#include "weft/autograd/op_trace.h"

namespace weft {
namespace {

struct Watch {
  bool anomalies = false;
  Anomalies kind = Anomalies::kNanAndInfinity;
  internal::HistoryCollector* collector = nullptr;
};
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
constinit thread_local Watch state;

void update() { internal::update_watching(); }

// "element 3 is nan" of the first value that is not as it should be.
std::optional<std::string> anomaly_of(const Array& array) {
  if (!array.defined() || !is_floating(array.dtype())) return std::nullopt;
  const Array values = array.contiguous().to(DType::kF64);
  const std::span<const double> all = values.flat<double>();
  const auto found = std::find_if(all.begin(), all.end(), [](double value) {
    return state.kind == Anomalies::kNan ? std::isnan(value) : !std::isfinite(value);
  });
  if (found == all.end()) return std::nullopt;
  return "element " + std::to_string(found - all.begin()) + " is " + std::to_string(*found);
}

std::string describe(const Array& array) {
  if (!array.defined()) return "none";
  return to_string(array.shape()) + " " + std::string(to_string(array.dtype()));
}

}  // namespace

AnomalyMode::AnomalyMode(Anomalies anomalies) : was_on_(state.anomalies), before_(state.kind) {
  state.anomalies = true;
  state.kind = anomalies;
  update();
}

AnomalyMode::~AnomalyMode() {
  state.anomalies = was_on_;
  state.kind = before_;
  update();
}

namespace internal {

void update_watching() {
  watching = state.anomalies || state.collector != nullptr || current_trace != nullptr;
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
    return NodeAccess::node(other).get() == NodeAccess::node(tensor).get();
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
  const std::optional<std::string> made = anomaly_of(output);
  if (!made) return;
  std::string text = std::string("[anomaly] the forward of \"") + name + "\" gave " +
                     describe(output) + " of which " + *made;
  if (inputs.empty()) throw AnomalyError(text);
  text += "; inputs:";
  bool clean = true;
  for (const Tensor* input : inputs) {
    const std::optional<std::string> had = anomaly_of(input->array());
    clean = clean && !had;
    text += " " + describe(input->array()) + (had ? " (" + *had + ")" : "");
  }
  throw AnomalyError(text + (clean ? ", all finite" : ""));
}

void check_input_gradients(Node& node) {
  if (!state.anomalies) return;
  for (int i = 0; i < NodeAccess::input_count(node); ++i) {
    Node* const input = NodeAccess::input(node, i);
    if (input == nullptr) continue;
    const std::optional<std::string> made = anomaly_of(NodeAccess::gradient(*input));
    if (!made) continue;
    throw AnomalyError(std::string("[anomaly] the backward of \"") + NodeAccess::name(node) +
                       "\" (output " + to_string(NodeAccess::shape(node)) +
                       ") gave a gradient of input " + std::to_string(i) + " " +
                       describe(NodeAccess::gradient(*input)) + " of which " + *made);
  }
}

}  // namespace internal
}  // namespace weft
