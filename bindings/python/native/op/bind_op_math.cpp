// Functions of two operands, which broadcast, and products of matrices.
#include <cmath>
#include <limits>

#include "core/autocast.h"
#include "core/define.h"
#include "core/module.h"
#include "weft/op/arithmetic.h"
#include "weft/op/compare.h"
#include "weft/op/index.h"
#include "weft/op/linalg.h"
#include "weft/op/shape.h"
#include "weft/op/softmax.h"

namespace weft::python {
namespace {

namespace py = pybind11;

using Pairwise = Tensor (*)(const Tensor&, const Tensor&);

// Whole numbers over whole numbers, towards 0: where floor_divide() went beyond, one more.
Tensor divided_towards_zero(const Tensor& x, const Tensor& y) {
  if (is_floating(x.dtype()) || is_floating(y.dtype())) return trunc(div(x, y));
  const Tensor quotient = floor_divide(x, y);
  const Tensor inexact = logical_and(lt(quotient, 0.0), ne(remainder(x, y), 0.0));
  return add(quotient, cast(inexact, quotient.dtype()));
}

Tensor divided(const Tensor& x, const Tensor& y, const std::optional<std::string>& rounding) {
  if (!rounding) return div(x, y);
  if (*rounding == "floor") return floor_divide(x, y);
  if (*rounding == "trunc") return divided_towards_zero(x, y);
  throw std::invalid_argument("[div] expected rounding_mode None, 'floor' or 'trunc', got '" +
                              *rounding + "'");
}

void bind_pairwise(Definer& define) {
  const auto pairwise = [&define](const char* name, Pairwise of, const char* text) {
    define.both(
        name,
        [of](const Tensor& x, const Operand& other) {
          const Tensor y = other.beside(x);
          return released(std::max(x.size(), y.size()), [&] { return of(x, y); });
        },
        py::arg("other"), text);
  };
  pairwise("mul", &mul, "input * other.");
  define.both(
      "div",
      [](const Tensor& x, const Operand& other, const std::optional<std::string>& rounding_mode) {
        const Tensor y = other.beside(x);
        return released(std::max(x.size(), y.size()), [&] { return divided(x, y, rounding_mode); });
      },
      py::arg("other"), py::kw_only(), py::arg("rounding_mode") = py::none(),
      "input / other; with rounding_mode 'floor' or 'trunc' rounded down, or towards 0.");
  define.both(
      "pow",
      [](const Tensor& x, const Operand& exponent) {
        if (exponent.is_number() && exponent.number().is_exact() &&
            exponent.number().kind != Scalar::Kind::kBool) {
          const Scalar number = exponent.number();
          const Tensor base = beside(x, number);
          return released(x.size(), [&] { return pow(base, number.value); });
        }
        const Tensor y = exponent.beside(x);
        return released(std::max(x.size(), y.size()), [&] { return pow(x, y); });
      },
      py::arg("exponent"), "input ** exponent.");
  pairwise("maximum", &maximum, "The larger of each pair; NaN if one is.");
  pairwise("minimum", &minimum, "The smaller of each pair; NaN if one is.");
  pairwise("remainder", &remainder, "input % other, with the sign of other.");
  pairwise("floor_divide", &floor_divide, "input // other.");
  pairwise("atan2", &atan2, "The angle of the point (other, input).");
  pairwise("eq", &eq, "bool: input == other.");
  pairwise("ne", &ne, "bool: input != other.");
  pairwise("lt", &lt, "bool: input < other.");
  pairwise("le", &le, "bool: input <= other.");
  pairwise("gt", &gt, "bool: input > other.");
  pairwise("ge", &ge, "bool: input >= other.");
  pairwise("logical_and", &logical_and, "bool: both are not 0.");
  pairwise("logical_or", &logical_or, "bool: one is not 0.");
  pairwise("logical_xor", &logical_xor, "bool: one is 0 and the other is not.");
  const auto scaled = [&define](const char* name, Pairwise of, const char* text) {
    define.both(
        name,
        [of](const Tensor& x, const Operand& other, double alpha) {
          const Tensor y = other.beside(x);
          return alpha == 1.0 ? of(x, y) : of(x, mul(y, alpha));
        },
        py::arg("other"), py::kw_only(), py::arg("alpha") = 1.0, text);
  };
  scaled("add", &add, "input + alpha * other.");
  scaled("sub", &sub, "input - alpha * other.");
}

// A bound that a double does not hold, or that differs from place to place.
bool is_large(const std::optional<Operand>& bound) {
  return bound && (!bound->is_number() || !bound->number().is_exact());
}

bool is_nan(const std::optional<Operand>& bound) {
  return bound && bound->is_number() && std::isnan(bound->number().value);
}

Tensor clamped(const Tensor& x, const std::optional<Operand>& min,
               const std::optional<Operand>& max) {
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  if (!min && !max) throw std::invalid_argument("[clamp] expected min or max");
  if (is_nan(min) || is_nan(max)) {
    throw std::invalid_argument("[clamp] expected bounds that are numbers, got nan");
  }
  if (is_large(min) || is_large(max)) {
    const Tensor raised = min ? maximum(x, min->beside(x)) : x;
    return max ? minimum(raised, max->beside(raised)) : raised;
  }
  return clamp(x, min ? min->number().value : -kUnbounded, max ? max->number().value : kUnbounded);
}

Tensor filled(const Tensor& x, const Tensor& mask, const Operand& value) {
  if (value.is_number() && value.number().is_exact()) {
    return masked_fill(x, mask, value.number().value);
  }
  const Tensor fill = value.beside(x);
  if (fill.size() != 1) {
    throw std::invalid_argument("[masked_fill] expected one value, got shape " +
                                to_string(fill.shape()));
  }
  return where(mask, cast(reshape(fill, {}), x.dtype()), x);
}

Tensor choose_where(const Tensor& condition, const Operand& a, const Operand& b) {
  if (a.is_number() && b.is_number()) {
    const Tensor one = a.beside(condition);
    return where(condition, one, b.beside(one));
  }
  if (a.is_number()) return where(condition, a.beside(b.beside(condition)), b.beside(condition));
  const Tensor first = a.beside(condition);
  return where(condition, first, b.beside(first));
}

bool equal(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return false;
  const NoGrad no_grad;
  return allclose(a, b, {0.0, 0.0});
}

void bind_choices(Definer& define) {
  define.both("clamp", clamped, py::arg("min") = py::none(), py::arg("max") = py::none(),
              "Moves values into [min, max].");
  define.function("where", choose_where, py::arg("condition"), py::arg("input"), py::arg("other"),
                  "input where the bool condition holds, else other.");
  define.both("masked_fill", filled, py::arg("mask"), py::arg("value"),
              "x with `value` where the bool mask holds.");
  define.both(
      "masked_select", [](const Tensor& x, const Tensor& mask) { return masked_select(x, mask); },
      py::arg("mask"), "The values where the bool mask holds, in order.");
  define.both("equal", equal, py::arg("other"), "Whether shapes and all values are equal.");
  define.both(
      "isclose",
      [](const Tensor& x, const Tensor& y, double rtol, double atol) {
        return isclose(x, y, {rtol, atol});
      },
      py::arg("other"), py::arg("rtol") = 1e-5, py::arg("atol") = 1e-8,
      "bool: |input - other| <= atol + rtol |other|.");
  define.both(
      "allclose",
      [](const Tensor& x, const Tensor& y, double rtol, double atol) {
        return allclose(x, y, {rtol, atol});
      },
      py::arg("other"), py::arg("rtol") = 1e-5, py::arg("atol") = 1e-8,
      "Whether isclose() holds everywhere.");
}

Tensor matrices_product(const Tensor& x, const Tensor& y) {
  if (x.ndim() == 2 && y.ndim() == 2) return matmul(x, y);
  throw std::invalid_argument("[mm] expected two matrices, got shapes " + to_string(x.shape()) +
                              " and " + to_string(y.shape()) + ": matmul() takes more axes");
}

void check_axes(const char* name, const char* argument, const Tensor& x, int count) {
  if (x.ndim() == count) return;
  throw std::invalid_argument("[" + std::string(name) + "] expected " + argument + " of " +
                              std::to_string(count) + " axes, got shape " + to_string(x.shape()));
}

// The lock is let go for products that take longer than that.
std::int64_t work_of(const Tensor& x, const Tensor& y) {
  return x.size() * (y.ndim() > 1 ? y.dim(-1) : 1);
}

void bind_products(Definer& define) {
  const auto product = [&define](const char* name, Pairwise of, const char* text) {
    define.both(
        name,
        [of](const Tensor& x, const Tensor& y) {
          return released(work_of(x, y), [&] { return of(lowered(x), lowered(y)); });
        },
        py::arg("other"), text);
  };
  product("matmul", &matmul, "[..., m, k] @ [..., k, n]; leading axes broadcast.");
  product("mm", &matrices_product, "[m, k] @ [k, n].");
  product("bmm", &bmm, "[b, m, k] @ [b, k, n].");
  product("dot", &dot, "The sum of the products of two vectors.");
  product("outer", &outer, "All products of the values of two vectors.");
  define.both(
      "mv",
      [](const Tensor& x, const Tensor& vec) {
        check_axes("mv", "input", x, 2);
        check_axes("mv", "vec", vec, 1);
        return released(x.size(), [&] { return matmul(lowered(x), lowered(vec)); });
      },
      py::arg("vec"), "[m, k] @ [k].");
  define.function(
      "einsum",
      [](const std::string& equation, const py::args& operands) {
        const py::object list = operands.size() == 1 && !is_tensor(operands[0].ptr())
                                    ? py::object(operands[0])
                                    : py::object(operands);
        auto tensors = py::cast<std::vector<Tensor>>(list);
        for (Tensor& tensor : tensors) tensor = lowered(tensor);
        return released(kElementsWorthReleasing, [&] { return einsum(equation, tensors); });
      },
      py::arg("equation"), "Einstein's summation, as einsum('bhid,bhjd->bhij', q, k).");
  define.both("trace", &trace, "The sum of the diagonal of a matrix.");
  const auto along = [&define](const char* name, Tensor (*of)(const Tensor&, int),
                               const char* text) {
    define.both(
        name,
        [of](const Tensor& x, int dim, const std::optional<DType>& dtype) {
          return released(x.size(), [&] { return dtype ? of(cast(x, *dtype), dim) : of(x, dim); });
        },
        py::arg("dim"), py::arg("dtype") = py::none(), text);
  };
  along("softmax", &softmax, "e^x over its sum along `dim`.");
  along("log_softmax", &log_softmax, "The logarithm of softmax().");
}

}  // namespace

void bind_op_math(py::module_& module) {
  Definer define(module);
  bind_pairwise(define);
  bind_choices(define);
  bind_products(define);
}

}  // namespace weft::python
