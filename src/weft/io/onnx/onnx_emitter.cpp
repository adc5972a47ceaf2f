#include "weft/io/onnx/onnx_emitter.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

namespace weft {

OnnxAttribute onnx_attribute(std::string name, std::int64_t value) {
  OnnxAttribute attribute;
  attribute.name = std::move(name);
  attribute.integer = value;
  return attribute;
}

OnnxAttribute onnx_attribute(std::string name, double value) {
  OnnxAttribute attribute;
  attribute.name = std::move(name);
  attribute.kind = OnnxAttributeKind::kFloat;
  attribute.number = static_cast<float>(value);
  return attribute;
}

OnnxAttribute onnx_attribute(std::string name, std::vector<std::int64_t> values) {
  OnnxAttribute attribute;
  attribute.name = std::move(name);
  attribute.kind = OnnxAttributeKind::kIntegers;
  attribute.integers = std::move(values);
  return attribute;
}

OnnxAttribute onnx_attribute(std::string name, std::string_view value) {
  OnnxAttribute attribute;
  attribute.name = std::move(name);
  attribute.kind = OnnxAttributeKind::kText;
  attribute.text = value;
  return attribute;
}

// The same view of the same memory; the trace holds all of it, so no memory is used twice.
std::string OnnxEmitter::key_of(const Array& array) {
  return fmt::format("{} {} {} {} {} {}", array.storage()->id(), array.offset(),
                     to_string(array.shape()), to_string(array.strides()), to_string(array.dtype()),
                     static_cast<const void*>(array.format().get()));
}

void OnnxEmitter::bind(const Array& value, const std::string& name) {
  names_[key_of(value)] = name;
  unused_[name] = value;
}

void OnnxEmitter::bind_input(const Array& value, const std::string& name) {
  names_[key_of(value)] = name;
}

void OnnxEmitter::fail(const std::string& why) const {
  throw std::invalid_argument("[export_onnx] " + why);
}

void OnnxEmitter::emit(const TracedOp& op, const TracedOp& other, std::uint64_t first_inside) {
  op_ = &op;
  other_ = &other;
  first_inside_ = first_inside;
  has_result_ = false;
  const std::span<const OnnxRule> rules = onnx_rules();
  const auto rule =
      std::lower_bound(rules.begin(), rules.end(), op.name,
                       [](const OnnxRule& own, const std::string& name) { return own.op < name; });
  if (rule == rules.end() || rule->op != op.name) {
    fail(fmt::format("expected operations that ONNX can express (docs/onnx.md), got \"{}\"",
                     op.name));
  }
  rule->emit(*this);
  if (!has_result_) fail(fmt::format("expected a result of \"{}\", got none", op.name));
}

bool OnnxEmitter::has(std::size_t index) const {
  return index < op_->inputs.size() && op_->inputs[index].defined();
}

std::string OnnxEmitter::in(std::size_t index) {
  if (!has(index)) fail(fmt::format("expected input {} of \"{}\", got none", index, op_->name));
  return value_of(op_->inputs[index]);
}

std::string OnnxEmitter::value_of(const Array& array) {
  const auto found = names_.find(key_of(array));
  if (found == names_.end()) {
    if (array.storage()->id() >= first_inside_) {
      fail(
          fmt::format("expected inputs of \"{}\" that operations made, got values {} that were "
                      "computed otherwise",
                      op_->name, to_string(array.shape())));
    }
    std::string name = constant(array.strided());
    names_[key_of(array)] = name;
    return name;
  }
  const auto parameter = unused_.find(found->second);
  if (parameter != unused_.end()) {
    graph_.initializers.push_back({found->second, parameter->second});
    unused_.erase(parameter);
  }
  return found->second;
}

double OnnxEmitter::number(std::string_view name) const {
  const TracedAttribute* const attribute = op_->find(name);
  if (attribute == nullptr || attribute->values.empty()) {
    fail(fmt::format("expected \"{}\" to say its {}, got none", op_->name, name));
  }
  return attribute->values[0];
}

std::vector<std::int64_t> OnnxEmitter::integers(std::string_view name) const {
  const TracedAttribute* const attribute = op_->find(name);
  if (attribute == nullptr) {
    fail(fmt::format("expected \"{}\" to say its {}, got none", op_->name, name));
  }
  std::vector<std::int64_t> values;
  for (const double value : attribute->values) values.push_back(static_cast<std::int64_t>(value));
  return values;
}

std::vector<std::int64_t> OnnxEmitter::open_shape() const {
  const Shape& shape = op_->output.shape();
  const Shape& of_other = other_->output.shape();
  std::vector<std::int64_t> result(shape.begin(), shape.end());
  int differing = 0;
  for (int i = 0; i < shape.size(); ++i) {
    if (i < of_other.size() && shape[i] == of_other[i]) continue;
    result[static_cast<std::size_t>(i)] = -1;
    ++differing;
  }
  if (differing > 1 || shape.size() != of_other.size()) {
    fail(fmt::format("expected one size of \"{}\" that the batch decides, got {} and {}", op_->name,
                     to_string(shape), to_string(of_other)));
  }
  return result;
}

std::string OnnxEmitter::constant(const Array& value) {
  std::string name = fmt::format("constant_{}", counts_["constant"]++);
  graph_.initializers.push_back({name, value.contiguous()});
  return name;
}

std::string OnnxEmitter::scalar(double value) {
  std::string& name = scalars_[fmt::format("{}", static_cast<float>(value))];
  if (name.empty()) name = constant(Array::full({}, value));
  return name;
}

std::string OnnxEmitter::integers_constant(const std::vector<std::int64_t>& values) {
  std::string& name = scalars_[fmt::format("[{}]", fmt::join(values, ","))];
  if (name.empty()) {
    name = constant(Array::from(values, {static_cast<std::int64_t>(values.size())}));
  }
  return name;
}

std::string OnnxEmitter::node(const std::string& type, std::vector<std::string> inputs,
                              Attributes attributes) {
  OnnxNode& node = graph_.nodes.emplace_back();
  node.op = type;
  node.name = fmt::format("{}_{}", type, counts_[type]++);
  node.inputs = std::move(inputs);
  node.outputs = {node.name + "_out"};
  node.attributes = std::move(attributes);
  return node.outputs[0];
}

std::string OnnxEmitter::reshape(const std::string& x, const std::vector<std::int64_t>& shape) {
  return node("Reshape", {x, integers_constant(shape)});
}

std::string OnnxEmitter::permute(const std::string& x, const std::vector<std::int64_t>& axes) {
  return node("Transpose", {x}, {onnx_attribute("perm", axes)});
}

std::string OnnxEmitter::slice(const std::string& x, std::int64_t axis, std::int64_t begin,
                               std::int64_t end, std::int64_t step) {
  return node("Slice", {x, integers_constant({begin}), integers_constant({end}),
                        integers_constant({axis}), integers_constant({step})});
}

void OnnxEmitter::result(const std::string& value) {
  names_[key_of(op_->output)] = value;
  has_result_ = true;
}

std::vector<bool> OnnxEmitter::needed(std::span<const TracedOp> ops, const Array& output) {
  std::set<std::string> wanted = {key_of(output)};
  std::vector<bool> result(ops.size());
  for (std::size_t i = ops.size(); i > 0; --i) {
    const TracedOp& op = ops[i - 1];
    if (!wanted.contains(key_of(op.output))) continue;
    result[i - 1] = true;
    for (const Array& input : op.inputs) {
      if (input.defined()) wanted.insert(key_of(input));
    }
    for (const TracedAttribute& attribute : op.attributes) {
      if (attribute.array.defined()) wanted.insert(key_of(attribute.array));
    }
  }
  return result;
}

OnnxGraph OnnxEmitter::finish(const Array& output, const std::string& name) {
  const auto found = names_.find(key_of(output));
  if (found == names_.end()) fail("expected a result that operations made, got another");
  // The last node, so that a graph that hands its input on has one, too.
  OnnxNode& last = graph_.nodes.emplace_back();
  last.op = "Identity";
  last.name = "result";
  last.inputs = {found->second};
  last.outputs = {name};
  // What nothing reads goes, from the end.
  std::set<std::string> used = {name};
  std::vector<OnnxNode> kept;
  for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) {
    if (!used.contains(node->outputs[0])) continue;
    used.insert(node->inputs.begin(), node->inputs.end());
    kept.push_back(std::move(*node));
  }
  std::reverse(kept.begin(), kept.end());
  graph_.nodes = std::move(kept);
  std::erase_if(graph_.initializers,
                [&](const OnnxTensor& tensor) { return !used.contains(tensor.name); });
  return std::move(graph_);
}

}  // namespace weft
