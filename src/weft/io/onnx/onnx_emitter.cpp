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

// Begins the keys of all arrays in that memory; the trace holds all of it, so none is used twice.
std::string OnnxEmitter::memory_of(const Array& array) {
  return fmt::format("{} ", array.storage()->id());
}

// The same view of the same memory.
std::string OnnxEmitter::key_of(const Array& array) {
  return fmt::format("{}{} {} {} {} {}", memory_of(array), array.offset(), to_string(array.shape()),
                     to_string(array.strides()), to_string(array.dtype()),
                     static_cast<const void*>(array.format().get()));
}

void OnnxEmitter::bind(const Array& value, const std::string& name) {
  names_[key_of(value)] = name;
  unused_[name] = value;
}

void OnnxEmitter::bind_input(const Array& value, const std::string& name) {
  names_[key_of(value)] = name;
  if (input_.empty()) input_ = name;
}

void OnnxEmitter::note_write(const TracedOp& op) {
  static const std::set<std::string_view> writes = {"add_",  "copy_", "div_",
                                                    "fill_", "mul_",  "setitem"};
  if (!writes.contains(op.name)) return;
  const std::string memory = memory_of(op.output);
  const std::string written = key_of(op.output);
  for (auto at = names_.lower_bound(memory); at != names_.end(); ++at) {
    if (!at->first.starts_with(memory)) break;
    if (at->first != written) at->second.clear();
  }
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
    // One that runs others inside: what the last of them made is its result.
    const auto made = names_.find(key_of(op.output));
    if (made != names_.end() && !made->second.empty()) return;
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
  if (found->second.empty()) {
    fail(
        fmt::format("expected inputs of \"{}\" that nothing has written in part, or through "
                    "another view of their memory, got such values {}: make them anew by concat, "
                    "stack or where",
                    op_->name, to_string(array.shape())));
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

bool OnnxEmitter::is_batch_size(int axis) const {
  return op_->output.dim(axis) == 2 && other_->output.dim(axis) == 3;
}

std::string OnnxEmitter::batch_size() {
  if (batch_size_.empty()) batch_size_ = slice(node("Shape", {input_}), 0, 0, 1);
  return batch_size_;
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

std::string OnnxEmitter::second() {
  if (has(1)) return in(1);
  const DType dtype = op_->inputs[0].dtype();
  const double value = number("scalar");
  return dtype == DType::kF32 ? scalar(value) : constant(Array::full({}, value, dtype));
}

std::vector<std::int64_t> OnnxEmitter::axes_in_mask() const {
  const auto mask = static_cast<std::uint64_t>(number("mask"));
  std::vector<std::int64_t> axes;
  for (int i = 0; i < op_->inputs[0].ndim(); ++i) {
    if ((mask >> static_cast<unsigned>(i) & 1U) != 0) axes.push_back(i);
  }
  return axes;
}

std::string OnnxEmitter::spread(const std::string& value, const Shape& from) {
  const Shape& shape = op_->output.shape();
  std::vector<std::string> parts;
  bool is_open = false;
  std::vector<std::int64_t> sizes = open_shape();
  for (int i = 0; i < shape.size(); ++i) {
    std::int64_t& size = sizes[static_cast<std::size_t>(i)];
    const int at = i - (shape.size() - from.size());
    const bool grows = size == -1 && (at < 0 || from[at] == 1);
    if (grows && !is_batch_size(i))
      fail(fmt::format("expected \"{}\" to the number of rows", op_->name));
    if (size == -1 && !grows) size = 1;  // keeps what is there
    is_open = is_open || grows;
    parts.push_back(grows ? batch_size() : integers_constant({size}));
  }
  if (!is_open) return node("Expand", {value, integers_constant(sizes)});
  return node("Expand",
              {value, node("Concat", std::move(parts), {onnx_attribute("axis", std::int64_t{0})})});
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

std::string OnnxEmitter::one_more_output(const std::string& first, std::size_t place) {
  const auto made = std::find_if(graph_.nodes.rbegin(), graph_.nodes.rend(),
                                 [&](const OnnxNode& node) { return node.outputs[0] == first; });
  if (made == graph_.nodes.rend()) fail("expected a node that gives " + first);
  for (std::size_t i = made->outputs.size(); i <= place; ++i) {
    made->outputs.push_back(fmt::format("{}_{}", first, i));
  }
  return made->outputs[place];
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

std::vector<bool> OnnxEmitter::needed(std::span<const TracedOp> ops,
                                      std::span<const Array> outputs) {
  std::set<std::string> wanted;
  for (const Array& output : outputs) wanted.insert(key_of(output));
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

OnnxGraph OnnxEmitter::finish(std::span<const Array> outputs, std::span<const std::string> names) {
  std::set<std::string> used(names.begin(), names.end());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto found = names_.find(key_of(outputs[i]));
    if (found == names_.end() || found->second.empty()) {
      fail("expected a result that operations made, got another");
    }
    // A node of its own, so that a graph that hands its input on has one, too.
    OnnxNode& last = graph_.nodes.emplace_back();
    last.op = "Identity";
    last.name = i == 0 ? "result" : fmt::format("result_{}", i);
    last.inputs = {found->second};
    last.outputs = {names[i]};
  }
  // What nothing reads goes, from the end.
  std::vector<OnnxNode> kept;
  for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) {
    const bool is_read = std::any_of(node->outputs.begin(), node->outputs.end(),
                                     [&](const std::string& name) { return used.contains(name); });
    if (!is_read) continue;
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
