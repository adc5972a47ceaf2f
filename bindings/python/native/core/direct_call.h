// Functions bound by pybind11, called without its dispatcher, which takes longer than a small
// operation does.
//
// note_direct_call() keeps, beside a function that pybind11 has just bound, a DirectCall that loads
// the arguments with the same casters and defaults, from where the interpreter has them. When all
// is bound, install_direct_calls() puts a callable in the place of each: it takes the calls that
// fit, and leaves all others (wrong types, unknown keywords, out=) to pybind11's function, which
// also has the documentation.
// Threads: the GIL is held.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "array/casters.h"
#include "core/errors.h"

namespace weft::python {

struct Operand;

// The arguments of a call as the interpreter passes them: `count` values by position, then one for
// each of `names`, which is null without keywords. Borrowed.
struct CallArguments {
  PyObject* const* values;
  Py_ssize_t count;
  PyObject* names;
};

class DirectCall {
 public:
  DirectCall() = default;
  DirectCall(const DirectCall&) = delete;
  DirectCall& operator=(const DirectCall&) = delete;
  virtual ~DirectCall() = default;
  // The result as a new reference; null with a Python error set if the call failed, or without one
  // if it is none for this, so that pybind11's function has to take it.
  virtual PyObject* run(const CallArguments& arguments) const = 0;
};

// What pybind11 knows of the arguments of a function.
class BoundArguments {
 public:
  // `with_rest`: the last one takes all further values as a tuple.
  BoundArguments(const pybind11::detail::function_record& record, bool with_rest);
  // Whether the record describes each argument, or none.
  bool complete() const { return complete_; }
  bool converts(std::size_t i) const { return slots_[i].convert; }
  // Writes the value of each argument, given or by default, into `values`, and those of `rest`.
  // False if they do not fit. Values are borrowed.
  bool place(const CallArguments& arguments, PyObject** values, pybind11::object& rest) const;

 private:
  struct Slot {
    PyObject* name = nullptr;      // interned; null without one
    PyObject* fallback = nullptr;  // null if the argument has to be given
    bool convert = true;
    bool takes_none = true;
  };
  // The place of the keyword, or the number of arguments if none has that name.
  std::size_t place_of(PyObject* name) const;

  std::vector<Slot> slots_;
  std::size_t positional_;
  bool with_rest_;
  bool complete_ = true;
};

// Types whose casters need nothing of pybind11's dispatcher.
template <class T>
inline constexpr bool kIsDirect = std::is_arithmetic_v<T> || std::is_base_of_v<pybind11::handle, T>;
template <>
inline constexpr bool kIsDirect<Tensor> = true;
template <>
inline constexpr bool kIsDirect<Viewed> = true;
template <>
inline constexpr bool kIsDirect<ViewOf> = true;
template <>
inline constexpr bool kIsDirect<Operand> = true;
template <>
inline constexpr bool kIsDirect<Dims> = true;
template <>
inline constexpr bool kIsDirect<DType> = true;
template <>
inline constexpr bool kIsDirect<std::string> = true;
template <>
inline constexpr bool kIsDirect<void> = true;
template <class T>
inline constexpr bool kIsDirect<std::optional<T>> = kIsDirect<T>;
template <class T>
inline constexpr bool kIsDirect<std::vector<T>> = kIsDirect<T>;

template <class... Arguments>
inline constexpr bool kTakesRest = (... || std::is_same_v<std::decay_t<Arguments>, pybind11::args>);

// Calls `function` under `Guard`, a pybind11::call_guard's or void_type.
template <class Guard, class Function, class Result, class... Arguments>
class DirectCallOf final : public DirectCall {
 public:
  DirectCallOf(Function function, const pybind11::detail::function_record& record)
      : function_(std::move(function)), arguments_(record, kTakesRest<Arguments...>) {}
  bool complete() const { return arguments_.complete(); }
  PyObject* run(const CallArguments& arguments) const override {
    return run(arguments, std::index_sequence_for<Arguments...>());
  }

 private:
  template <std::size_t... I>
  PyObject* run(const CallArguments& arguments, std::index_sequence<I...>) const {
    PyObject* values[sizeof...(Arguments) + 1];
    pybind11::object rest;
    if (!arguments_.place(arguments, values, rest)) return nullptr;
    return guarded([&]() -> PyObject* {
      std::tuple<pybind11::detail::make_caster<Arguments>...> casters;
      if (!(... && std::get<I>(casters).load(values[I], arguments_.converts(I)))) return nullptr;
      const auto call = [&]() -> Result {
        [[maybe_unused]] const Guard guard{};
        return function_(pybind11::detail::cast_op<Arguments>(std::move(std::get<I>(casters)))...);
      };
      if constexpr (std::is_void_v<Result>) {
        call();
        Py_RETURN_NONE;
      } else {
        return pybind11::detail::make_caster<Result>::cast(
                   call(), pybind11::return_value_policy::move, pybind11::handle())
            .ptr();
      }
    });
  }

  Function function_;
  BoundArguments arguments_;
};

// `bound`: what pybind11 has made, with its instancemethod if it has one. Null if it is none of
// pybind11's, or has overloads.
const pybind11::detail::function_record* record_of(PyObject* bound);
// Keeps `call` for install_direct_calls().
void keep_direct_call(PyObject* scope, const char* name, DirectCall* call);
// An attribute of the type that `get`, a function of the object alone, computes; `set` may be null.
void add_getter(const pybind11::object& type, const char* name, DirectCall* get,
                const pybind11::object& set, const char* documentation);
// Puts what was kept in the place of pybind11's functions: once, when all is bound.
void install_direct_calls();

// A callable for the Tensor method `name`_ of the function `name`: it writes the result into the
// object, and leaves what does not fit to `otherwise`. `truths`: results of type bool fit.
pybind11::object direct_in_place(const std::string& name, const pybind11::object& otherwise,
                                 bool truths);

template <class Guard, class Function, class Result, class... Arguments>
DirectCall* direct_call(Function function, const pybind11::detail::function_record& record,
                        Result (*)(Arguments...)) {
  if constexpr (kIsDirect<std::remove_cvref_t<Result>> && !std::is_reference_v<Result> &&
                (... && kIsDirect<std::remove_cvref_t<Arguments>>)) {
    using Call = DirectCallOf<Guard, Function, Result, Arguments...>;
    auto call = std::make_unique<Call>(std::move(function), record);
    return call->complete() ? call.release() : nullptr;
  } else {
    return nullptr;
  }
}
// The DirectCall of a function or lambda, which is kept for the life of the process; null if there
// is none for its types.
template <class... Extra, class Function>
DirectCall* direct_call_of(const Function& function, PyObject* bound) {
  const pybind11::detail::function_record* const record = record_of(bound);
  if (record == nullptr) return nullptr;
  using Guard = pybind11::detail::extract_guard_t<Extra...>;
  using Stored = std::decay_t<Function>;
  if constexpr (std::is_pointer_v<Stored>) {
    return direct_call<Guard>(Stored(function), *record, Stored(function));
  } else {
    using Signature = pybind11::detail::function_signature_t<Stored>;
    return direct_call<Guard>(function, *record, static_cast<Signature*>(nullptr));
  }
}

template <class... Extra, class Function>
void note_direct_call(const pybind11::object& scope, const char* name, const Function& function) {
  const pybind11::object bound = scope.attr("__dict__")[name];
  DirectCall* const call = direct_call_of<Extra...>(function, bound.ptr());
  if (call != nullptr) keep_direct_call(scope.ptr(), name, call);
}

}  // namespace weft::python
