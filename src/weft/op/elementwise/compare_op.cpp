// Comparisons and tests. They have no gradient: their samples multiply what depends on the operands
// by the outcome, as a mask, so that values and masks are checked together.
#include <cmath>

#include "weft/array/launch.h"
#include "weft/autograd/node.h"
#include "weft/autograd/op_trace.h"
#include "weft/kernel/elementwise/elementwise.h"
#include "weft/op/arithmetic.h"
#include "weft/op/compare.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/promote.h"
#include "weft/op/core/sample.h"
#include "weft/op/reduce.h"

namespace weft {
namespace {

// No history, but a trace of operations has the comparison.
Tensor noted(const char* name, Array y, std::initializer_list<const Tensor*> inputs) {
  if (internal::watching) internal::watch(name, y, {inputs.begin(), inputs.size()});
  return Tensor(std::move(y));
}

Tensor compare(const char* name, BinaryOp op, const Tensor& a, const Tensor& b) {
  const Operands operands = promote(name, a, b);
  return noted(name, binary(op, operands.a.array(), operands.b.array()),
               {&operands.a, &operands.b});
}

Tensor compare(const char* name, BinaryOp op, const Tensor& a, double b) {
  const bool whole = std::floor(b) == b && std::abs(b) < 9.2e18;
  const DType exact = whole ? DType::kI64 : DType::kF64;
  if (!a.defined()) throw_operand(name, "a tensor", "an undefined one");
  const Tensor x = is_floating(a.dtype()) ? a : cast(a, exact);
  if (op_tracing()) trace_attributes(name, {{"scalar", {b}}});
  return noted(name, binary(op, x.array(), b), {&x});
}

Tensor test(const char* name, UnaryOp op, const Tensor& a) {
  if (!a.defined()) throw_operand(name, "a tensor", "an undefined one");
  return noted(name, unary(op, a.array()), {&a});
}

using Compare = Tensor (*)(const Tensor&, const Tensor&);
std::vector<OpSample> comparison_samples(Compare op, bool (*reference)(double, double)) {
  std::vector<OpSample> all = binary_samples(
      [op](const Tensor& a, const Tensor& b) {
        return mul(cast(op(a, b), a.dtype()), sub(a, mul(b, 2.0)));
      },
      [reference](double a, double b) { return reference(a, b) ? a - 2 * b : 0.0; }, {-1.1, 0.93});
  all.push_back({"ties",
                 {Array::from(std::vector<double>{1, 2, 3, 4, -1}, {5}),
                  Array::from(std::vector<double>{1, 3, 2, 4, -2}, {5})},
                 [op](std::span<const Tensor> in) { return op(in[0], in[1]); },
                 [reference](std::span<const Array> in) {
                   return map_values(in[0], in[1], [&](double x, double y) {
                     return reference(x, y) ? 1.0 : 0.0;
                   });
                 },
                 1e-5,
                 false});
  return all;
}

using Test = Tensor (*)(const Tensor&);
std::vector<OpSample> test_samples(Test op, bool (*reference)(double)) {
  std::vector<OpSample> all =
      unary_samples([op](const Tensor& a) { return add(a, cast(op(a), count_type(a))); },
                    [reference](double a) { return a + (reference(a) ? 1.0 : 0.0); });
  all.push_back({"special values",
                 {Array::from(std::vector<double>{0.0, -0.0, INFINITY, -INFINITY, NAN, 1e30}, {6})},
                 [op](std::span<const Tensor> in) { return cast(op(in[0]), in[0].dtype()); },
                 [reference](std::span<const Array> in) {
                   return map_values(in[0], [&](double a) { return reference(a) ? 1.0 : 0.0; });
                 },
                 1e-5,
                 false});
  return all;
}

}  // namespace

Tensor eq(const Tensor& a, const Tensor& b) { return compare("eq", BinaryOp::kEq, a, b); }
Tensor ne(const Tensor& a, const Tensor& b) { return compare("ne", BinaryOp::kNe, a, b); }
Tensor lt(const Tensor& a, const Tensor& b) { return compare("lt", BinaryOp::kLt, a, b); }
Tensor le(const Tensor& a, const Tensor& b) { return compare("le", BinaryOp::kLe, a, b); }
Tensor gt(const Tensor& a, const Tensor& b) { return compare("gt", BinaryOp::kGt, a, b); }
Tensor ge(const Tensor& a, const Tensor& b) { return compare("ge", BinaryOp::kGe, a, b); }
Tensor eq(const Tensor& a, double b) { return compare("eq", BinaryOp::kEq, a, b); }
Tensor ne(const Tensor& a, double b) { return compare("ne", BinaryOp::kNe, a, b); }
Tensor lt(const Tensor& a, double b) { return compare("lt", BinaryOp::kLt, a, b); }
Tensor le(const Tensor& a, double b) { return compare("le", BinaryOp::kLe, a, b); }
Tensor gt(const Tensor& a, double b) { return compare("gt", BinaryOp::kGt, a, b); }
Tensor ge(const Tensor& a, double b) { return compare("ge", BinaryOp::kGe, a, b); }

Tensor logical_and(const Tensor& a, const Tensor& b) {
  return compare("logical_and", BinaryOp::kLogicalAnd, a, b);
}
Tensor logical_or(const Tensor& a, const Tensor& b) {
  return compare("logical_or", BinaryOp::kLogicalOr, a, b);
}
Tensor logical_xor(const Tensor& a, const Tensor& b) {
  return compare("logical_xor", BinaryOp::kLogicalXor, a, b);
}
Tensor logical_not(const Tensor& a) { return test("logical_not", UnaryOp::kLogicalNot, a); }
Tensor isnan(const Tensor& a) { return test("isnan", UnaryOp::kIsNan, a); }
Tensor isinf(const Tensor& a) { return test("isinf", UnaryOp::kIsInf, a); }
Tensor isfinite(const Tensor& a) { return test("isfinite", UnaryOp::kIsFinite, a); }

Tensor isclose(const Tensor& a, const Tensor& b, const Tolerance& tolerance) {
  const NoGrad no_grad;
  const Operands like = promote_floating("isclose", a, b);
  const Tensor bound = add(mul(abs(like.b), tolerance.relative), tolerance.absolute);
  const Tensor near = le(abs(sub(like.a, like.b)), bound);
  // An infinite bound would take in everything.
  return logical_or(eq(like.a, like.b), logical_and(near, isfinite(like.b)));
}

bool allclose(const Tensor& a, const Tensor& b, const Tolerance& tolerance) {
  launch_host_read("allclose");
  return all(isclose(a, b, tolerance)).item() != 0.0;
}

static std::vector<OpSample> eq_samples() {
  return comparison_samples(eq, [](double a, double b) { return a == b; });
}
static std::vector<OpSample> ne_samples() {
  return comparison_samples(ne, [](double a, double b) { return a != b; });
}
static std::vector<OpSample> lt_samples() {
  return comparison_samples(lt, [](double a, double b) { return a < b; });
}
static std::vector<OpSample> le_samples() {
  return comparison_samples(le, [](double a, double b) { return a <= b; });
}
static std::vector<OpSample> gt_samples() {
  return comparison_samples(gt, [](double a, double b) { return a > b; });
}
static std::vector<OpSample> ge_samples() {
  return comparison_samples(ge, [](double a, double b) { return a >= b; });
}
static std::vector<OpSample> isnan_samples() {
  return test_samples(isnan, [](double a) { return std::isnan(a); });
}
static std::vector<OpSample> isinf_samples() {
  return test_samples(isinf, [](double a) { return std::isinf(a); });
}
static std::vector<OpSample> isfinite_samples() {
  return test_samples(isfinite, [](double a) { return std::isfinite(a); });
}
static std::vector<OpSample> logical_not_samples() {
  return test_samples(logical_not, [](double a) { return a == 0; });
}
// Tests the signs, since samples are never 0.
static std::vector<OpSample> logical_samples(Compare op, bool (*reference)(bool, bool)) {
  return binary_samples(
      [op](const Tensor& a, const Tensor& b) {
        const Tensor total = add(cast(a, count_type(a)), b);
        return mul(cast(op(gt(a, 0.0), gt(b, 0.0)), count_type(a)), total);
      },
      [reference](double a, double b) { return reference(a > 0, b > 0) ? a + b : 0.0; });
}
static std::vector<OpSample> logical_and_samples() {
  return logical_samples(logical_and, [](bool a, bool b) { return a && b; });
}
static std::vector<OpSample> logical_or_samples() {
  return logical_samples(logical_or, [](bool a, bool b) { return a || b; });
}
static std::vector<OpSample> logical_xor_samples() {
  return logical_samples(logical_xor, [](bool a, bool b) { return a != b; });
}

extern const OpDef eq_op = {"eq", eq_samples};
extern const OpDef ne_op = {"ne", ne_samples};
extern const OpDef lt_op = {"lt", lt_samples};
extern const OpDef le_op = {"le", le_samples};
extern const OpDef gt_op = {"gt", gt_samples};
extern const OpDef ge_op = {"ge", ge_samples};
extern const OpDef isnan_op = {"isnan", isnan_samples};
extern const OpDef isinf_op = {"isinf", isinf_samples};
extern const OpDef isfinite_op = {"isfinite", isfinite_samples};
extern const OpDef logical_and_op = {"logical_and", logical_and_samples};
extern const OpDef logical_or_op = {"logical_or", logical_or_samples};
extern const OpDef logical_xor_op = {"logical_xor", logical_xor_samples};
extern const OpDef logical_not_op = {"logical_not", logical_not_samples};

}  // namespace weft
