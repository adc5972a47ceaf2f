// When the GIL is let go, and how objects of Python are kept by code that runs without it.
#pragma once

#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>

#include <Python.h>

#include "weft/autograd/tensor.h"

namespace weft::python {

// Letting go and taking again costs what a few hundred elements do: not worth it below this.
inline constexpr std::int64_t kElementsWorthReleasing = 32768;

// Lets the GIL go while it lives, if there is enough to do.
class Released {
 public:
  explicit Released(std::int64_t elements)
      : state_(elements >= kElementsWorthReleasing ? PyEval_SaveThread() : nullptr) {}
  ~Released() {
    if (state_ != nullptr) PyEval_RestoreThread(state_);
  }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  PyThreadState* state_;
};

// work(handles...) without the GIL if it is about so many elements; then on copies of the handles,
// since another thread may give the objects others meanwhile.
template <class Work, class... Handles>
Tensor released(std::int64_t elements, const Work& work, const Handles&... handles) {
  if (elements < kElementsWorthReleasing) return work(handles...);
  const auto copies = std::make_tuple(Tensor(handles)...);
  const Released scope(elements);
  return std::apply(work, copies);
}

// A reference that may be dropped on any thread, with the GIL or without. Takes a new one.
inline std::shared_ptr<PyObject> keep(PyObject* object) {
  Py_INCREF(object);
  return {object, [](PyObject* kept) {
            if (Py_IsInitialized() == 0) return;  // the interpreter is gone and all of its with it
            const PyGILState_STATE state = PyGILState_Ensure();
            Py_DECREF(kept);
            PyGILState_Release(state);
          }};
}

}  // namespace weft::python
