// Functions of one Tensor, as x.exp() and as weft.exp(x), without a dispatcher in between.
#include <array>

#include "core/batched_calls.h"
#include "core/call_keywords.h"
#include "core/errors.h"
#include "core/gil.h"
#include "tensor/tensor_object.h"
#include "weft/op/activation.h"
#include "weft/op/arithmetic.h"
#include "weft/op/compare.h"

namespace weft::python {
namespace {

using Function = Tensor (*)(const Tensor&);

template <Function kFunction>
PyObject* apply(const Tensor& x) {
  return wrap(released(
      x.size(), [](const Tensor& operand) { return kFunction(operand); }, x));
}

template <Function kFunction>
PyObject* unary_method(PyObject* self, PyObject*) {
  return guarded([&] { return apply<kFunction>(tensor_of(self)); });
}

// What weft.exp(x), weft.exp(input=x) and weft.exp(x, out=y) are given; borrowed, null if missing.
struct UnaryCall {
  PyObject* input = nullptr;
  PyObject* out = nullptr;
};

// The name of a function of the table, for messages.
std::string name_of(_PyCFunctionFastWithKeywords function);

UnaryCall unary_call(_PyCFunctionFastWithKeywords function, PyObject* const* arguments,
                     Py_ssize_t count, PyObject* names) {
  UnaryCall call;
  if (count > 1) {
    throw TypeProblem(name_of(function) + "() takes 1 argument by position (input), got " +
                      std::to_string(count));
  }
  if (count == 1) call.input = arguments[0];
  const Py_ssize_t keywords = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  for (Py_ssize_t i = 0; i < keywords; ++i) {
    PyObject* const name = PyTuple_GET_ITEM(names, i);
    PyObject* const value = arguments[count + i];
    if (PyUnicode_CompareWithASCIIString(name, "input") == 0 && call.input == nullptr) {
      call.input = value;
    } else if (PyUnicode_CompareWithASCIIString(name, "out") == 0) {
      call.out = value == Py_None ? nullptr : value;
    } else {
      throw TypeProblem(name_of(function) + "() got an unexpected keyword argument '" +
                        PyUnicode_AsUTF8(name) + "': it takes input, out");
    }
  }
  if (call.input == nullptr) {
    throw TypeProblem(name_of(function) + "() misses the argument 'input'");
  }
  if (!is_tensor(call.input) && !is_batched(call.input)) {
    throw TypeProblem(name_of(function) + "(): argument 'input' must be weft.Tensor, got " +
                      Py_TYPE(call.input)->tp_name +
                      ": make a tensor of it with weft.tensor() or weft.from_numpy()");
  }
  return call;
}

template <Function kFunction>
PyObject* function(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const UnaryCall call = unary_call(&function<kFunction>, arguments, count, names);
    PyObject* const result =
        is_tensor(call.input)
            ? apply<kFunction>(tensor_of(call.input))
            : call_batched_with(name_of(&function<kFunction>).c_str(), call.input, nullptr);
    if (call.out == nullptr) return result;
    return written_out(result, pybind11::reinterpret_borrow<pybind11::object>(call.out));
  });
}

struct Unary {
  const char* name;
  PyCFunction method;
  _PyCFunctionFastWithKeywords function;
  const char* documentation;
};

template <Function kFunction>
constexpr Unary unary(const char* name, const char* documentation) {
  return {name, unary_method<kFunction>, function<kFunction>, documentation};
}

constexpr std::array kUnary = {
    unary<abs>("abs", "|x|; the gradient at 0 is 0."),
    unary<ceil>("ceil", "The next whole number up."),
    unary<cos>("cos", "The cosine."),
    unary<erf>("erf", "The error function."),
    unary<exp>("exp", "e^x."),
    unary<exp2>("exp2", "2^x."),
    unary<expm1>("expm1", "e^x - 1, accurate near 0."),
    unary<floor>("floor", "The next whole number down."),
    unary<isfinite>("isfinite", "bool: neither infinite nor NaN."),
    unary<isinf>("isinf", "bool: infinite."),
    unary<isnan>("isnan", "bool: NaN."),
    unary<log>("log", "The natural logarithm."),
    unary<log1p>("log1p", "log(1 + x), accurate near 0."),
    unary<log2>("log2", "The logarithm to base 2."),
    unary<logical_not>("logical_not", "bool: whether x is 0."),
    unary<neg>("neg", "-x."),
    unary<reciprocal>("reciprocal", "1 / x."),
    unary<relu>("relu", "max(x, 0)."),
    unary<round>("round", "The nearest whole number, ties to even."),
    unary<rsqrt>("rsqrt", "1 / sqrt(x)."),
    unary<sigmoid>("sigmoid", "1 / (1 + e^-x)."),
    unary<sign>("sign", "-1, 0 or 1."),
    unary<sin>("sin", "The sine."),
    unary<sqrt>("sqrt", "The square root."),
    unary<square>("square", "x^2."),
    unary<tanh>("tanh", "The hyperbolic tangent."),
    unary<trunc>("trunc", "The whole number next to it towards 0."),
    // Functions of torch.nn.functional, which the package exposes there.
    unary<log_sigmoid>("logsigmoid", "log(sigmoid(x)), finite for any x."),
    unary<mish>("mish", "x tanh(softplus(x))."),
    unary<silu>("silu", "x sigmoid(x)."),
    unary<softsign>("softsign", "x / (1 + |x|)."),
};

std::string name_of(_PyCFunctionFastWithKeywords function) {
  for (const Unary& each : kUnary) {
    if (each.function == function) return each.name;
  }
  return "a function of one tensor";
}

}  // namespace

PyMethodDef* unary_methods() {
  static std::array<PyMethodDef, kUnary.size() + 1> methods = {};
  for (std::size_t i = 0; i < kUnary.size(); ++i) {
    methods[i] = {kUnary[i].name, kUnary[i].method, METH_NOARGS, kUnary[i].documentation};
  }
  return methods.data();
}

PyMethodDef* unary_functions() {
  static std::array<PyMethodDef, kUnary.size() + 1> functions = {};
  for (std::size_t i = 0; i < kUnary.size(); ++i) {
    const auto body =
        reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(kUnary[i].function));
    functions[i] = {kUnary[i].name, body, METH_FASTCALL | METH_KEYWORDS, kUnary[i].documentation};
  }
  return functions.data();
}

}  // namespace weft::python
