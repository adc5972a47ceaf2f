#include "swarm/array_bytes.h"

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::python {

namespace py = pybind11;

// The part of DLPack's interface that is needed here, version 0.
// Grammar: https://dmlc.github.io/dlpack/latest/c_api.html
namespace dlpack_v0 {

constexpr std::int32_t kDeviceCpu = 1;
constexpr std::uint8_t kCodeFloat = 2;
constexpr std::int32_t kDimsMax = 64;

struct DlTensor {
  void* data;
  std::int32_t device_type;
  std::int32_t device_id;
  std::int32_t dims;
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};

struct DlManagedTensor {
  DlTensor tensor;
  void* context;
  void (*deleter)(DlManagedTensor*);
};

struct DlDeleter {
  void operator()(DlManagedTensor* managed) const {
    if (managed->deleter != nullptr) managed->deleter(managed);
  }
};

}  // namespace dlpack_v0

using namespace dlpack_v0;

namespace {

// Elements of a tensor that lies in one piece, rows first.
std::size_t elements_of(const DlTensor& tensor) {
  if (tensor.dims < 0 || tensor.dims > kDimsMax) throw py::value_error("array: too many axes");
  std::int64_t elements = 1;
  for (std::int32_t axis = tensor.dims - 1; axis >= 0; --axis) {
    const std::int64_t length = tensor.shape[axis];
    const bool strided = tensor.strides != nullptr && length > 1;
    if (length < 0 || (strided && tensor.strides[axis] != elements)) {
      throw py::value_error(
          "array: expected one that lies in one piece, rows first; give its contiguous() form");
    }
    if (__builtin_mul_overflow(elements, length, &elements)) {
      throw py::value_error("array: too many elements");
    }
  }
  return static_cast<std::size_t>(elements);
}

std::string type_name(const py::handle& object) {
  return py::str(py::type::handle_of(object).attr("__name__"));
}

bool is_float32(const py::buffer_info& info) {
  const std::string_view format = info.format;
  const bool native = format == "f" || format == "=f" || format == "@f" ||
                      (format == "<f" && std::endian::native == std::endian::little);
  return native && info.itemsize == sizeof(float);
}

}  // namespace

struct ArrayBytes::Memory {
  py::object owner;
  std::optional<py::buffer_info> buffer;
  std::unique_ptr<DlManagedTensor, DlDeleter> managed;
  void* data = nullptr;
  std::size_t size_bytes = 0;
  bool float32 = false;
  std::string name;

  void borrow_buffer(Access access);
  void borrow_dlpack();
};

void ArrayBytes::Memory::borrow_buffer(Access access) {
  auto view = std::make_unique<Py_buffer>();
  const int writable = access == Access::kWrite ? PyBUF_WRITABLE : 0;
  if (PyObject_GetBuffer(owner.ptr(), view.get(), PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | writable) !=
      0) {
    PyErr_Clear();
    throw py::value_error("array: expected one that lies in one piece, rows first" +
                          std::string(access == Access::kWrite ? ", and may be written" : ""));
  }
  buffer.emplace(view.release());  // which frees it
  data = buffer->ptr;
  size_bytes = static_cast<std::size_t>(buffer->size) * static_cast<std::size_t>(buffer->itemsize);
  float32 = is_float32(*buffer);
}

void ArrayBytes::Memory::borrow_dlpack() {
  const py::object capsule = owner.attr("__dlpack__")();
  void* given = PyCapsule_IsValid(capsule.ptr(), "dltensor") != 0
                    ? PyCapsule_GetPointer(capsule.ptr(), "dltensor")
                    : nullptr;
  if (given == nullptr) throw py::type_error("array: __dlpack__() gave no capsule \"dltensor\"");
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  managed.reset(static_cast<DlManagedTensor*>(given));
  const DlTensor& tensor = managed->tensor;
  if (tensor.device_type != kDeviceCpu) {
    throw py::value_error("array: expected one in the memory of the host; copy it there first");
  }
  if (tensor.lanes != 1 || tensor.bits % 8 != 0) {
    throw py::type_error("array: elements of this type are not known");
  }
  const std::size_t elements = elements_of(tensor);
  data = static_cast<std::uint8_t*>(tensor.data) + tensor.byte_offset;
  if (__builtin_mul_overflow(elements, std::size_t{tensor.bits} / 8, &size_bytes)) {
    throw py::value_error("array: too many elements");
  }
  float32 = tensor.code == kCodeFloat && tensor.bits == 32;
}

ArrayBytes::ArrayBytes(const py::handle& array, Access access)
    : memory_(std::make_unique<Memory>()) {
  memory_->owner = py::reinterpret_borrow<py::object>(array);
  memory_->name = type_name(array);
  if (PyObject_CheckBuffer(array.ptr()) != 0) {
    memory_->borrow_buffer(access);
  } else if (py::hasattr(array, "__dlpack__")) {
    memory_->borrow_dlpack();
  } else {
    throw py::type_error("array: expected one with the buffer protocol or DLPack, got " +
                         memory_->name);
  }
}

ArrayBytes::~ArrayBytes() = default;
ArrayBytes::ArrayBytes(ArrayBytes&&) noexcept = default;
ArrayBytes& ArrayBytes::operator=(ArrayBytes&&) noexcept = default;

std::size_t ArrayBytes::size_bytes() const { return memory_->size_bytes; }

ByteSpan ArrayBytes::bytes() const {
  return {static_cast<const std::uint8_t*>(memory_->data), memory_->size_bytes};
}

std::span<const float> ArrayBytes::floats() const { return writable_floats(); }

std::span<float> ArrayBytes::writable_floats() const {
  if (!memory_->float32) {
    throw py::type_error("array: expected float32 elements in a " + memory_->name);
  }
  return {static_cast<float*>(memory_->data), memory_->size_bytes / sizeof(float)};
}

}  // namespace weft::python
