// Python's buffer protocol, by which NumPy and memoryview read and write a Tensor's memory in
// place: numpy.asarray(tensor) copies nothing. The view keeps the memory alive.
//
// Refused, with BufferError: types that the protocol has no letter for (bfloat16), blocked memory
// (Tensor.numpy() lays it out anew) and tensors with a gradient, whose history would not notice.
#include <memory>

#include "core/errors.h"
#include "tensor/tensor_object.h"

namespace weft::python {
namespace {

const char* format_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "f";
    case DType::kF64:
      return "d";
    case DType::kF16:
      return "e";
    case DType::kI64:
      return "q";
    case DType::kI32:
      return "i";
    case DType::kI8:
      return "b";
    case DType::kU8:
      return "B";
    case DType::kBool:
      return "?";
    case DType::kBF16:
      break;
  }
  return nullptr;
}

// What a view points into while it lives.
struct ExportedBuffer {
  Array array;
  Py_ssize_t shape[Shape::kDimsMax] = {};
  Py_ssize_t strides[Shape::kDimsMax] = {};
};

const char* refusal(const Tensor& tensor) {
  if (tensor.requires_grad()) return "the tensor requires grad: take .detach()";
  if (!tensor.array().is_strided()) return "the tensor's memory is blocked: take .numpy()";
  if (format_of(tensor.dtype()) == nullptr) return "bfloat16 has no counterpart: take .float()";
  return nullptr;
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  const Tensor& tensor = tensor_of(self);
  const char* why = refusal(tensor);
  const bool dense = (flags & PyBUF_STRIDES) != PyBUF_STRIDES ||
                     (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS;
  if (why == nullptr && dense && !tensor.array().is_contiguous()) {
    why = "the tensor is not contiguous";
  }
  if (why != nullptr) {
    PyErr_SetString(PyExc_BufferError, why);
    return -1;
  }
  auto exported = std::make_unique<ExportedBuffer>();
  exported->array = tensor.array();
  const auto item = static_cast<Py_ssize_t>(size_of(tensor.dtype()));
  for (int i = 0; i < tensor.ndim(); ++i) {
    exported->shape[i] = tensor.shape()[i];
    exported->strides[i] = tensor.array().strides()[i] * item;
  }
  view->buf = tensor.array().raw_data();
  view->len = static_cast<Py_ssize_t>(tensor.array().size_bytes());
  view->readonly = 0;
  view->itemsize = item;
  view->format =
      (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format_of(tensor.dtype())) : nullptr;
  view->ndim = tensor.ndim();
  view->shape = exported->shape;
  view->strides = exported->strides;
  view->suboffsets = nullptr;
  view->internal = exported.release();
  view->obj = Py_NewRef(self);
  return 0;
}

void release_buffer(PyObject*, Py_buffer* view) {
  const std::unique_ptr<ExportedBuffer> owner(static_cast<ExportedBuffer*>(view->internal));
}

}  // namespace

PyType_Slot* buffer_slots() {
  static PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                                {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
                                {0, nullptr}};
  return slots;
}

}  // namespace weft::python
