#include "weft/io/onnx_import.h"

#include <algorithm>
#include <new>
#include <set>
#include <stdexcept>
#include <unordered_map>

#include <fmt/format.h>

#include "weft/array/storage/storage_budget.h"
#include "weft/io/onnx/onnx_operator.h"

namespace weft {
namespace {

std::string node_text(const OnnxNode& node, std::size_t place) {
  return fmt::format("onnx: node {} {} \"{}\" (byte {})", place, node.op, node.name, node.offset);
}

// The values that a graph's nodes see: its own and those of the graphs around it.
class Scope {
 public:
  explicit Scope(const Scope* outer) : outer_(outer) {}
  void set(const std::string& name, Tensor value) { own_[name] = std::move(value); }
  void drop(const std::string& name) { own_.erase(name); }
  // nullptr if there is none.
  const Tensor* find(const std::string& name) const {
    const auto found = own_.find(name);
    if (found != own_.end()) return &found->second;
    return outer_ == nullptr ? nullptr : outer_->find(name);
  }

 private:
  const Scope* outer_;
  std::unordered_map<std::string, Tensor> own_;
};

// Names that the graphs inside of `node` may take from around them.
void add_inner_names(const OnnxNode& node, std::set<std::string>& names) {
  for (const OnnxAttribute& attribute : node.attributes) {
    if (attribute.graph == nullptr) continue;
    for (const OnnxNode& inner : attribute.graph->nodes) {
      names.insert(inner.inputs.begin(), inner.inputs.end());
      add_inner_names(inner, names);
    }
    for (const OnnxValue& output : attribute.graph->outputs) names.insert(output.name);
  }
}

class Runner {
 public:
  explicit Runner(std::int64_t opset) : opset_(opset) {}

  // Runs the nodes of `graph` in `scope`, which holds the inputs, and returns the outputs. With
  // `drop` values go after their last use.
  std::vector<Tensor> run_graph(const OnnxGraph& graph, Scope& scope, bool drop);

 private:
  std::vector<Tensor> run_node(const OnnxNode& node, const Scope& scope);
  std::vector<Tensor> run_if(const OnnxCall& call, const Scope& scope);
  std::vector<Tensor> run_loop(const OnnxCall& call, const Scope& scope);

  std::int64_t opset_;
  std::int64_t loop_steps_ = 0;
};

const OnnxGraph& graph_of(const OnnxCall& call, std::string_view name) {
  return *call.required(name, OnnxAttributeKind::kGraph).graph;
}

std::vector<Tensor> Runner::run_if(const OnnxCall& call, const Scope& scope) {
  const bool is_true = call.in(0).array().item() != 0.0;
  Scope inner(&scope);
  return run_graph(graph_of(call, is_true ? "then_branch" : "else_branch"), inner, false);
}

// Inputs: trip count, condition, carried values; body: (step, condition, carried) to (condition,
// carried, values of each step, which are stacked).
std::vector<Tensor> Runner::run_loop(const OnnxCall& call, const Scope& scope) {
  const OnnxGraph& body = graph_of(call, "body");
  const auto carried_count = static_cast<std::size_t>(std::max(0, call.size() - 2));
  if (body.inputs.size() != carried_count + 2 || body.outputs.size() < carried_count + 1) {
    call.fail("a body of step, condition and the carried values", "another");
  }
  const std::int64_t steps = call.has(0) ? call.in(0).array().item_int() : kOnnxLoopStepsMax;
  Tensor condition = call.has(1) ? call.in(1) : Tensor(Array::full({}, 1.0, DType::kBool));
  std::vector<Tensor> carried(call.inputs().begin() + 2, call.inputs().end());
  std::vector<std::vector<Tensor>> stacked(body.outputs.size() - carried_count - 1);
  for (std::int64_t step = 0; step < steps && condition.array().item() != 0.0; ++step) {
    if (++loop_steps_ > kOnnxLoopStepsMax) {
      call.fail(fmt::format("at most {} steps of loops", kOnnxLoopStepsMax), "more");
    }
    Scope inner(&scope);
    inner.set(body.inputs[0].name, Tensor(Array::from(std::vector<std::int64_t>{step}, {})));
    inner.set(body.inputs[1].name, condition);
    for (std::size_t i = 0; i < carried_count; ++i) {
      inner.set(body.inputs[i + 2].name, carried[i]);
    }
    const std::vector<Tensor> results = run_graph(body, inner, false);
    condition = results[0];
    std::copy_n(results.begin() + 1, carried_count, carried.begin());
    for (std::size_t i = 0; i < stacked.size(); ++i) {
      stacked[i].push_back(results[i + 1 + carried_count]);
    }
  }
  for (const std::vector<Tensor>& values : stacked) {
    if (values.empty()) call.fail("at least one step where values are stacked", "none");
    Shape shape = values[0].shape();
    shape.insert(0, static_cast<std::int64_t>(values.size()));
    Array all = Array::empty(call.bounded(shape), values[0].dtype());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i].shape() != values[0].shape() || values[i].dtype() != values[0].dtype()) {
        call.fail("values of one shape and type", "others");
      }
      all.select(0, static_cast<std::int64_t>(i)).copy_from(values[i].array().strided());
    }
    carried.emplace_back(all);
  }
  return carried;
}

std::vector<Tensor> Runner::run_node(const OnnxNode& node, const Scope& scope) {
  std::vector<Tensor> inputs;
  for (const std::string& name : node.inputs) {
    const Tensor* const value = name.empty() ? nullptr : scope.find(name);
    if (value == nullptr && !name.empty()) {
      throw std::invalid_argument(fmt::format("expected the value \"{}\", got none so far", name));
    }
    inputs.push_back(value == nullptr ? Tensor() : *value);
  }
  const OnnxCall call(node, opset_, std::move(inputs));
  if (node.op == "If") return run_if(call, scope);
  if (node.op == "Loop") return run_loop(call, scope);
  return find_onnx_operator(node.op)->run(call);
}

std::vector<Tensor> Runner::run_graph(const OnnxGraph& graph, Scope& scope, bool drop) {
  for (const OnnxTensor& tensor : graph.initializers) {
    scope.set(tensor.name, Tensor(tensor.value));
  }
  std::unordered_map<std::string, std::size_t> last_use;
  for (std::size_t i = 0; drop && i < graph.nodes.size(); ++i) {
    std::set<std::string> used(graph.nodes[i].inputs.begin(), graph.nodes[i].inputs.end());
    add_inner_names(graph.nodes[i], used);
    for (const std::string& name : used) last_use[name] = i;
  }
  for (const OnnxValue& output : graph.outputs) last_use.erase(output.name);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const OnnxNode& node = graph.nodes[i];
    std::vector<Tensor> outputs;
    try {
      outputs = run_node(node, scope);
      const auto wanted = std::count_if(node.outputs.begin(), node.outputs.end(),
                                        [](const std::string& name) { return !name.empty(); });
      if (static_cast<std::size_t>(wanted) > outputs.size()) {
        throw std::invalid_argument(fmt::format("expected at most {} outputs, got {}",
                                                outputs.size(), node.outputs.size()));
      }
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(node_text(node, i) + ": " + error.what());
    }
    for (std::size_t k = 0; k < node.outputs.size() && k < outputs.size(); ++k) {
      if (!node.outputs[k].empty()) scope.set(node.outputs[k], std::move(outputs[k]));
    }
    for (const std::string& name : node.inputs) {
      const auto last = last_use.find(name);
      if (last != last_use.end() && last->second == i) scope.drop(name);
    }
  }
  std::vector<Tensor> results;
  for (const OnnxValue& output : graph.outputs) {
    const Tensor* const value = scope.find(output.name);
    if (value == nullptr || !value->defined()) {
      throw std::invalid_argument(
          fmt::format("onnx: output \"{}\": expected a value, got none", output.name));
    }
    results.push_back(*value);
  }
  return results;
}

void add_missing(const OnnxGraph& graph, std::set<std::string>& missing) {
  for (const OnnxNode& node : graph.nodes) {
    const bool is_known = node.domain.empty() && (node.op == "If" || node.op == "Loop" ||
                                                  find_onnx_operator(node.op) != nullptr);
    if (!is_known) missing.insert(node.domain.empty() ? node.op : node.domain + "." + node.op);
    for (const OnnxAttribute& attribute : node.attributes) {
      if (attribute.graph != nullptr) add_missing(*attribute.graph, missing);
    }
  }
}

std::string text_of(const OnnxValue& value) {
  std::string text = value.dtype ? std::string(to_string(*value.dtype)) : "any type";
  if (!value.shape) return text;
  std::vector<std::string> sizes;
  for (const OnnxSize& size : *value.shape) {
    sizes.push_back(size.size ? std::to_string(*size.size) : size.name.empty() ? "?" : size.name);
  }
  return fmt::format("{} [{}]", text, fmt::join(sizes, ", "));
}

bool fits(const OnnxValue& value, const Array& array) {
  if (!array.defined() || (value.dtype && *value.dtype != array.dtype())) return false;
  if (!value.shape) return true;
  if (static_cast<int>(value.shape->size()) != array.ndim()) return false;
  for (int i = 0; i < array.ndim(); ++i) {
    const std::optional<std::int64_t>& size = (*value.shape)[static_cast<std::size_t>(i)].size;
    if (size && *size != array.dim(i)) return false;
  }
  return true;
}

}  // namespace

Result<OnnxProgram> OnnxProgram::make(OnnxModel model) {
  if (model.opset < 1 || model.opset > 18) {
    return invalid_argument(
        fmt::format("onnx: expected operators of version 1 to 18, got {}; convert the model "
                    "(onnx.version_converter)",
                    model.opset));
  }
  std::set<std::string> missing;
  add_missing(model.graph, missing);
  if (!missing.empty()) {
    return invalid_argument(fmt::format(
        "onnx: expected operators that Weft has (docs/onnx.md), got {}", fmt::join(missing, ", ")));
  }
  OnnxProgram program;
  std::set<std::string> filled;
  for (const OnnxTensor& tensor : model.graph.initializers) filled.insert(tensor.name);
  for (const OnnxValue& input : model.graph.inputs) {
    if (!filled.contains(input.name)) program.inputs_.push_back(input);
  }
  program.model_ = std::make_shared<const OnnxModel>(std::move(model));
  return program;
}

std::size_t OnnxProgram::bytes_max_for(std::span<const Array> inputs) const {
  if (bytes_max_ > 0) return bytes_max_;
  std::size_t given = 0;
  for (const OnnxTensor& tensor : model_->graph.initializers) given += tensor.value.size_bytes();
  for (const Array& input : inputs) given += input.size_bytes();
  return std::max(kOnnxBytesMin, kOnnxBytesFactor * given);
}

Result<std::vector<Array>> OnnxProgram::run(std::span<const Array> inputs) const {
  if (inputs.size() != inputs_.size()) {
    return invalid_argument(
        fmt::format("onnx: expected {} inputs, got {}", inputs_.size(), inputs.size()));
  }
  Scope scope(nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!fits(inputs_[i], inputs[i])) {
      return invalid_argument(fmt::format(
          "onnx: input \"{}\": expected {}, got {} {}", inputs_[i].name, text_of(inputs_[i]),
          to_string(inputs[i].dtype()), to_string(inputs[i].shape())));
    }
    scope.set(inputs_[i].name, Tensor(inputs[i]));
  }
  const NoGrad no_grad;
  const StorageBudget budget(bytes_max_for(inputs));
  try {
    std::vector<Array> results;
    for (const Tensor& value : Runner(model_->opset).run_graph(model_->graph, scope, true)) {
      results.push_back(value.array().strided().contiguous());
    }
    return results;
  } catch (const std::invalid_argument& error) {
    return invalid_argument(error.what());
  } catch (const std::bad_alloc&) {
    return unavailable("onnx: not enough memory for the values of this model");
  }
}

}  // namespace weft
