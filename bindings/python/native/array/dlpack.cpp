#include "array/dlpack.h"

#include <memory>
#include <string>

#include "core/errors.h"
#include "core/gil.h"

namespace weft::python {
namespace {

namespace py = pybind11;

constexpr const char* kName = "dltensor";
constexpr const char* kTakenName = "used_dltensor";
constexpr std::int32_t kCpu = 1;

struct TypeRow {
  DType dtype;
  std::uint8_t code;
  std::uint8_t bits;
};
constexpr TypeRow kTypes[] = {
    {DType::kF32, 2, 32},  {DType::kF64, 2, 64}, {DType::kF16, 2, 16},
    {DType::kBF16, 4, 16}, {DType::kI64, 0, 64}, {DType::kI32, 0, 32},
    {DType::kI8, 0, 8},    {DType::kU8, 1, 8},   {DType::kBool, 6, 8},
};

DType dtype_of_dlpack(const DLDataType& type) {
  for (const TypeRow& row : kTypes) {
    if (type.lanes == 1 && row.code == type.code && row.bits == type.bits) return row.dtype;
  }
  throw TypeProblem("[from_dlpack] Weft has no type of code " + std::to_string(type.code) +
                    " and " + std::to_string(type.bits) + " bits: convert the array first");
}

// What a capsule of ours points to.
struct ExportedCapsule {
  DLManagedTensor managed = {};
  Array array;
  std::int64_t shape[Shape::kDimsMax] = {};
  std::int64_t strides[Shape::kDimsMax] = {};
};

void free_exported(DLManagedTensor* managed) {
  const std::unique_ptr<ExportedCapsule> owner(static_cast<ExportedCapsule*>(managed->context));
}

// A capsule that nobody took owns its tensor still.
void free_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kName) == 0) return;
  auto* const managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, kName));
  if (managed->deleter != nullptr) managed->deleter(managed);
}

// The foreign tensor is given back on whatever thread drops its last Array.
std::shared_ptr<DLManagedTensor> take(DLManagedTensor* managed) {
  return {managed, [](DLManagedTensor* taken) {
            if (taken->deleter == nullptr || Py_IsInitialized() == 0) return;
            const PyGILState_STATE state = PyGILState_Ensure();
            taken->deleter(taken);
            PyGILState_Release(state);
          }};
}

void check(const DLTensor& tensor) {
  if (tensor.device.type != kCpu) {
    throw std::invalid_argument("[from_dlpack] expected memory of the CPU (device type 1), got " +
                                std::to_string(tensor.device.type) + ": copy it there first");
  }
  if (tensor.ndim < 0 || tensor.ndim > Shape::kDimsMax) {
    throw std::invalid_argument("[from_dlpack] expected at most " +
                                std::to_string(Shape::kDimsMax) + " axes, got " +
                                std::to_string(tensor.ndim));
  }
  for (std::int32_t i = 0; i < tensor.ndim; ++i) {
    if (tensor.shape[i] < 0) throw std::invalid_argument("[from_dlpack] expected sizes >= 0");
  }
}

Array array_of_capsule(const DLTensor& tensor, const std::shared_ptr<DLManagedTensor>& owner) {
  const DType dtype = dtype_of_dlpack(tensor.dtype);
  const Shape shape(
      std::span<const std::int64_t>(tensor.shape, static_cast<std::size_t>(tensor.ndim)));
  if (shape.num_elements() == 0) return Array::empty(shape, dtype);
  const Strides strides = tensor.strides == nullptr
                              ? contiguous_strides(shape)
                              : Strides(std::span<const std::int64_t>(
                                    tensor.strides, static_cast<std::size_t>(tensor.ndim)));
  std::int64_t before = 0;
  std::int64_t reach = 1;
  for (int i = 0; i < shape.size(); ++i) {
    const std::int64_t steps = strides[i] * (shape[i] - 1);
    if (steps < 0) before -= steps;
    reach += steps < 0 ? -steps : steps;
  }
  const auto item = static_cast<std::int64_t>(size_of(dtype));
  char* const first = static_cast<char*>(tensor.data) + tensor.byte_offset;
  auto storage =
      Storage::wrap(first - before * item, static_cast<std::size_t>(reach * item), owner);
  return Array::on(std::move(storage), before, shape, strides, dtype);
}

}  // namespace

Tensor tensor_from_dlpack(const py::object& source) {
  py::object capsule = source;
  if (PyCapsule_IsValid(source.ptr(), kName) == 0) {
    if (!py::hasattr(source, "__dlpack__")) {
      throw TypeProblem(std::string("[from_dlpack] expected an object with __dlpack__(), got ") +
                        Py_TYPE(source.ptr())->tp_name);
    }
    capsule = source.attr("__dlpack__")();
  }
  auto* const managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), kName));
  if (managed == nullptr) throw py::error_already_set();
  check(managed->tensor);
  dtype_of_dlpack(managed->tensor.dtype);
  PyCapsule_SetName(capsule.ptr(), kTakenName);
  return Tensor(array_of_capsule(managed->tensor, take(managed)));
}

py::capsule tensor_to_dlpack(const Tensor& tensor) {
  if (tensor.requires_grad()) {
    throw std::invalid_argument(
        "[__dlpack__] the tensor requires grad, which its receiver would not see: take .detach()");
  }
  auto exported = std::make_unique<ExportedCapsule>();
  exported->array = tensor.array().strided();
  const Array& array = exported->array;
  for (int i = 0; i < array.ndim(); ++i) {
    exported->shape[i] = array.shape()[i];
    exported->strides[i] = array.strides()[i];
  }
  const TypeRow* row = kTypes;
  while (row->dtype != array.dtype()) ++row;
  exported->managed = {{array.raw_data(),
                        {kCpu, 0},
                        array.ndim(),
                        {row->code, row->bits, 1},
                        exported->shape,
                        exported->strides,
                        0},
                       exported.get(),
                       free_exported};
  PyObject* const capsule = PyCapsule_New(&exported->managed, kName, free_capsule);
  if (capsule == nullptr) throw py::error_already_set();
  exported.release()->managed.deleter = free_exported;
  return py::reinterpret_steal<py::capsule>(capsule);
}

}  // namespace weft::python
