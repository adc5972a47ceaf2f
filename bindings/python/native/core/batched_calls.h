// Calls with a tensor of weft.func.vmap among their arguments: an object of the Python class
// weft._batched.BatchedTensor, which holds one value per sample and is no weft.Tensor.
//
// A function that is bound here never reads such an object. While a vmap() is at work each call is
// searched for one, and a call that has one goes to Python, which has a rule for the function or
// refuses it by name. Outside of vmap() that is one comparison per call.
// Threads: the GIL is held.
#pragma once

#include <pybind11/pybind11.h>

namespace weft::python {

// The class while a vmap() is at work, else null.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
extern constinit PyTypeObject* batched_type;

inline bool is_batched(PyObject* object) {
  return batched_type != nullptr && Py_TYPE(object) == batched_type;
}
// Whether `object` is one, or a list, tuple, dict or slice that holds one. REQUIRES: a vmap() is at
// work.
bool holds_batched(PyObject* object);
// The same of the arguments of a call; `keywords` may be null.
inline bool has_batched(PyObject* arguments, PyObject* keywords) {
  return holds_batched(arguments) || (keywords != nullptr && holds_batched(keywords));
}
// Whether the function of that name draws random numbers: within vmap() such a call goes to Python
// with whatever arguments, as each sample may get draws of its own.
bool draws_random(const char* name);
// The answer of the rule for the function `name`: a new reference, or null with a Python error set.
// NotImplemented where a function that draws is to compute as outside of vmap().
PyObject* call_batched(const char* name, PyObject* arguments, PyObject* keywords);
// The same for a function of one argument, or of two where `second` is not null.
PyObject* call_batched_with(const char* name, PyObject* first, PyObject* second);
// Throws the error of an in-place operation on a weft.Tensor with a batched operand.
[[noreturn]] void refuse_batched();
// Adds _set_batched_calls(type, call), with which weft._batched begins and ends.
void add_batched_calls(pybind11::module_& module);

}  // namespace weft::python
