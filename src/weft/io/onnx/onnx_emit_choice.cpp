// Rules for constants, comparisons and what chooses values: by masks, by places, by size.
#include <algorithm>

#include <fmt/format.h>

#include "weft/io/onnx/onnx_emitter.h"

namespace weft {
namespace {

bool all_alike(const Array& values) {
  const std::vector<double> all = values.to(DType::kF64).to_vector<double>();
  for (const double value : all) {
    if (value != all[0]) return false;
  }
  return !all.empty();
}

// Values that the code made of numbers. Where their number depends on the batch, all are one value.
void emit_constant(OnnxEmitter& out) {
  const Array& value = out.op().find("value")->array;
  const std::vector<std::int64_t> shape = out.open_shape();
  if (std::find(shape.begin(), shape.end(), -1) == shape.end()) {
    out.result(out.constant(value));
    return;
  }
  if (!all_alike(value)) {
    out.fail(fmt::format("expected values that are the same for each number of rows, got {}",
                         to_string(value.shape())));
  }
  const Array one = value.reshape({value.size()}).slice(0, 0, 1).reshape({});
  out.result(out.spread(out.constant(one), {}));
}

// Two operands and one ONNX operator of the same meaning.
void emit_two(OnnxEmitter& out, const char* type) {
  out.result(out.node(type, {out.in(0), out.second()}));
}
void emit_eq(OnnxEmitter& out) { emit_two(out, "Equal"); }
void emit_ge(OnnxEmitter& out) { emit_two(out, "GreaterOrEqual"); }
void emit_gt(OnnxEmitter& out) { emit_two(out, "Greater"); }
void emit_le(OnnxEmitter& out) { emit_two(out, "LessOrEqual"); }
void emit_lt(OnnxEmitter& out) { emit_two(out, "Less"); }
void emit_ne(OnnxEmitter& out) {
  out.result(out.node("Not", {out.node("Equal", {out.in(0), out.second()})}));
}

// A truth value as it is; other numbers are one where they are not 0.
std::string truth(OnnxEmitter& out, std::size_t index) {
  if (out.op().inputs[index].dtype() == DType::kBool) return out.in(index);
  return out.node("Cast", {out.in(index)}, {onnx_attribute("to", onnx_type(DType::kBool))});
}
void emit_logical(OnnxEmitter& out, const char* type) {
  out.result(out.node(type, {truth(out, 0), truth(out, 1)}));
}
void emit_logical_and(OnnxEmitter& out) { emit_logical(out, "And"); }
void emit_logical_or(OnnxEmitter& out) { emit_logical(out, "Or"); }
void emit_logical_xor(OnnxEmitter& out) { emit_logical(out, "Xor"); }
void emit_logical_not(OnnxEmitter& out) { out.result(out.node("Not", {truth(out, 0)})); }

void emit_where(OnnxEmitter& out) {
  out.result(out.node("Where", {out.in(2), out.in(0), out.in(1)}));
}
void emit_masked_fill(OnnxEmitter& out) {
  const std::string value =
      out.constant(Array::full({}, out.number("value"), out.op().output.dtype()));
  out.result(out.node("Where", {out.in(1), value, out.in(0)}));
}
void emit_index_select(OnnxEmitter& out) {
  const auto axis = static_cast<std::int64_t>(out.number("axis"));
  out.result(out.node("Gather", {out.in(0), out.in(1)}, {onnx_attribute("axis", axis)}));
}

void emit_extreme(OnnxEmitter& out, const char* type) {
  const auto keepdims = static_cast<std::int64_t>(out.number("keepdims"));
  out.result(
      out.node(type, {out.in(0)},
               {onnx_attribute("axes", out.axes_in_mask()), onnx_attribute("keepdims", keepdims)}));
}
void emit_max(OnnxEmitter& out) { emit_extreme(out, "ReduceMax"); }
void emit_min(OnnxEmitter& out) { emit_extreme(out, "ReduceMin"); }

void emit_triangle(OnnxEmitter& out) {
  const double diagonal = out.number("diagonal");
  const std::int64_t upper = out.op().name == "triu" ? 1 : 0;
  out.result(out.node("Trilu", {out.in(0), out.constant(Array::full({}, diagonal, DType::kI64))},
                      {onnx_attribute("upper", upper)}));
}

void emit_same(OnnxEmitter& out) { out.result(out.in(0)); }

// One part of several: a view, whose place in its whole says where it begins.
void emit_split(OnnxEmitter& out) {
  const Array& whole = out.op().inputs[0];
  const Array& part = out.op().output;
  if (whole.storage() != part.storage()) out.fail("expected \"split\" of plain memory");
  for (int axis = 0; axis < part.ndim(); ++axis) {
    if (part.dim(axis) == whole.dim(axis)) continue;
    if (out.is_batch_size(axis) || whole.strides()[axis] == 0) {
      out.fail("expected \"split\" along an axis that is not the batch");
    }
    const std::int64_t begin = (part.offset() - whole.offset()) / whole.strides()[axis];
    out.result(out.slice(out.in(0), axis, begin, begin + part.dim(axis)));
    return;
  }
  out.result(out.in(0));
}

constexpr OnnxRule kChoiceRules[] = {
    {"max", emit_max},
    {"min", emit_min},
    {"constant", emit_constant},
    {"eq", emit_eq},
    {"ge", emit_ge},
    {"gt", emit_gt},
    {"index_select", emit_index_select},
    {"le", emit_le},
    {"logical_and", emit_logical_and},
    {"logical_not", emit_logical_not},
    {"logical_or", emit_logical_or},
    {"logical_xor", emit_logical_xor},
    {"lt", emit_lt},
    {"masked_fill", emit_masked_fill},
    {"ne", emit_ne},
    {"same", emit_same},
    {"split", emit_split},
    {"tril", emit_triangle},
    {"triu", emit_triangle},
    {"where", emit_where},
};

}  // namespace

std::span<const OnnxRule> onnx_choice_rules() { return kChoiceRules; }

}  // namespace weft
