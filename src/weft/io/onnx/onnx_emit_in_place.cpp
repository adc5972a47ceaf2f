// Rules for operations that write into the memory of their first operand. Each appears twice in a
// trace, before the write with its inputs and after it without.
#include "weft/io/onnx/onnx_emitter.h"

namespace weft {
namespace {

bool is_after_the_write(OnnxEmitter& out) {
  if (!out.op().inputs.empty()) return false;
  out.result(out.before());
  return true;
}

void emit_written(OnnxEmitter& out, const char* type) {
  if (is_after_the_write(out)) return;
  out.result(out.node(type, {out.in(0), out.second()}));
}
void emit_mul_in_place(OnnxEmitter& out) { emit_written(out, "Mul"); }
void emit_div_in_place(OnnxEmitter& out) { emit_written(out, "Div"); }

void emit_add_in_place(OnnxEmitter& out) {
  if (is_after_the_write(out)) return;
  std::string other = out.second();
  const TracedAttribute* const scale = out.op().find("scale");
  if (scale != nullptr && scale->values[0] != 1.0) {
    other = out.node("Mul", {other, out.scalar(scale->values[0])});
  }
  out.result(out.node("Add", {out.in(0), other}));
}

void emit_copy_in_place(OnnxEmitter& out) {
  if (is_after_the_write(out)) return;
  const Shape& from = out.op().inputs[0].shape();
  const bool is_whole = from == out.op().output.shape();
  out.result(is_whole ? out.in(0) : out.spread(out.in(0), from));
}

constexpr OnnxRule kInPlaceRules[] = {
    {"add_", emit_add_in_place},
    {"copy_", emit_copy_in_place},
    {"div_", emit_div_in_place},
    {"mul_", emit_mul_in_place},
};

}  // namespace

std::span<const OnnxRule> onnx_in_place_rules() { return kInPlaceRules; }

}  // namespace weft
