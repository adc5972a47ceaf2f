// OnnxEmitter: the translation of a traced operation into an ONNX graph. For io/onnx/*.cpp.
//
// A rule takes the operation and adds nodes; its last call names the result. The rules
// (onnx_emit_*.cpp) are listed by the operation's name in onnx_emit_table.cpp. Fails:
// std::invalid_argument "[export_onnx] ...".
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/autograd/op_trace.h"
#include "weft/io/onnx_model.h"

namespace weft {

OnnxAttribute onnx_attribute(std::string name, std::int64_t value);
OnnxAttribute onnx_attribute(std::string name, double value);
OnnxAttribute onnx_attribute(std::string name, std::vector<std::int64_t> values);
OnnxAttribute onnx_attribute(std::string name, std::string_view value);

class OnnxEmitter {
 public:
  using Attributes = std::vector<OnnxAttribute>;

  // Both name values that exist before any operation runs: a parameter, which becomes an
  // initializer if it is used, and the graph's input.
  void bind(const Array& value, const std::string& name);
  void bind_input(const Array& value, const std::string& name);
  // Adds the nodes for `op`. `other` is the same operation of the run with another batch.
  // `first_inside`: storages from this number on were made in the run.
  void emit(const TracedOp& op, const TracedOp& other, std::uint64_t first_inside);
  // If `op` has written memory in place: forgets the values of all other arrays in that memory.
  // Each operation of a run in order, emitted or not.
  void note_write(const TracedOp& op);
  // Marks which of `ops` the values `outputs` depend on, without operations inside others.
  static std::vector<bool> needed(std::span<const TracedOp> ops, std::span<const Array> outputs);
  // Returns the graph that leads to `outputs`, each under its name.
  OnnxGraph finish(std::span<const Array> outputs, std::span<const std::string> names);

  // Functions for rules.
  const TracedOp& op() const { return *op_; }
  bool has(std::size_t index) const;
  // The value of an input, of an array in an attribute, or of any array known so far.
  std::string in(std::size_t index);
  std::string value_of(const Array& array);
  // The value of the operation's result before it: of one that writes in place.
  std::string before() { return value_of(op_->output); }
  // Numbers of an attribute; these functions throw if the operation recorded none.
  double number(std::string_view name) const;
  std::vector<std::int64_t> integers(std::string_view name) const;
  // The number of rows, i64 [1]; of a result's axis whose size it is.
  std::string batch_size();
  bool is_batch_size(int axis) const;
  // The result's shape, with -1 for the one size that depends on the batch.
  std::vector<std::int64_t> open_shape() const;

  // The second operand: a tensor, or the number "scalar" in the type of the first.
  std::string second();
  std::vector<std::int64_t> axes_in_mask() const;

  std::string constant(const Array& value);
  // Values of the result's shape where those of `value` are, of one row or all alike.
  std::string spread(const std::string& value, const Shape& from);
  std::string scalar(double value);  // f32
  std::string integers_constant(const std::vector<std::int64_t>& values);
  // Adds a node with one output, and returns that output.
  std::string node(const std::string& type, std::vector<std::string> inputs,
                   Attributes attributes = {});
  // Output `place` of the node whose first one is `first`.
  std::string one_more_output(const std::string& first, std::size_t place);
  std::string reshape(const std::string& x, const std::vector<std::int64_t>& shape);
  std::string permute(const std::string& x, const std::vector<std::int64_t>& axes);
  std::string slice(const std::string& x, std::int64_t axis, std::int64_t begin, std::int64_t end,
                    std::int64_t step = 1);
  // Sets the value of the operation; REQUIRES: each rule calls it once.
  void result(const std::string& value);
  [[noreturn]] void fail(const std::string& why) const;

 private:
  static std::string key_of(const Array& array);
  static std::string memory_of(const Array& array);

  OnnxGraph graph_;
  std::map<std::string, std::string> names_;
  std::map<std::string, int> counts_;
  std::map<std::string, Array> unused_;  // parameters: initializers once they are used
  std::map<std::string, std::string> scalars_;
  std::string input_;       // the first one
  std::string batch_size_;  // "": not asked for yet
  const TracedOp* op_ = nullptr;
  const TracedOp* other_ = nullptr;
  std::uint64_t first_inside_ = 0;
  bool has_result_ = false;
};

struct OnnxRule {
  std::string_view op;
  void (*emit)(OnnxEmitter& out);
};
// The table, sorted by name.
std::span<const OnnxRule> onnx_rules();
std::span<const OnnxRule> onnx_plain_rules();
std::span<const OnnxRule> onnx_layer_rules();
std::span<const OnnxRule> onnx_sequence_rules();
std::span<const OnnxRule> onnx_in_place_rules();
std::span<const OnnxRule> onnx_choice_rules();

}  // namespace weft
