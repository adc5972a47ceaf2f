#include "weft/autograd/op_trace.h"

#include <algorithm>
#include <utility>

namespace weft {

OpTrace::OpTrace() : before_(std::exchange(internal::current_trace, this)) {
  internal::update_watching();
}

OpTrace::~OpTrace() {
  internal::current_trace = before_;
  internal::update_watching();
}

void OpTrace::expect(const char* op, std::vector<TracedAttribute> attributes) {
  expected_ = op;
  expected_attributes_ = std::move(attributes);
}

void OpTrace::note(const char* name, const Array& output, std::span<const Tensor* const> inputs) {
  TracedOp& op = ops_.emplace_back();
  op.name = name;
  op.output = output;
  for (const Tensor* const input : inputs) op.inputs.push_back(input->array());
  if (std::string_view(std::exchange(expected_, "")) == op.name) {
    op.attributes = std::move(expected_attributes_);
  }
  expected_attributes_.clear();
}

Tensor trace_constant(Tensor value) {
  if (!op_tracing()) return value;
  trace_attributes("constant", {{"value", {}, value.array().strided().clone()}});
  internal::current_trace->note("constant", value.array(), {});
  return value;
}

void trace_same(const Tensor& copy, const Tensor& of) {
  if (!op_tracing()) return;
  const Tensor* const inputs[] = {&of};
  internal::current_trace->note("same", copy.array(), inputs);
}

const TracedAttribute* TracedOp::find(std::string_view attribute) const {
  const auto found =
      std::find_if(attributes.begin(), attributes.end(),
                   [&](const TracedAttribute& own) { return own.name == attribute; });
  return found == attributes.end() ? nullptr : &*found;
}

}  // namespace weft
