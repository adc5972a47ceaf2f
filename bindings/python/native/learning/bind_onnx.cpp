// ONNX models in and out, which weft.onnx shows.
#include "core/define.h"
#include "core/module.h"
#include "weft/base/file.h"
#include "weft/io/onnx_export.h"
#include "weft/io/onnx_import.h"

namespace weft::python {
namespace {

namespace py = pybind11;

using TensorList = std::vector<Tensor>;
using Named = std::vector<std::pair<std::string, Tensor>>;

// (name, type or None, sizes or None); a size is a number, a name or None.
py::tuple described(const OnnxValue& value) {
  const py::object dtype =
      value.dtype ? py::reinterpret_borrow<py::object>(dtype_object(*value.dtype)) : py::none();
  if (!value.shape) return py::make_tuple(value.name, dtype, py::none());
  py::list sizes;
  for (const OnnxSize& size : *value.shape) {
    if (size.size) {
      sizes.append(*size.size);
    } else if (!size.name.empty()) {
      sizes.append(size.name);
    } else {
      sizes.append(py::none());
    }
  }
  return py::make_tuple(value.name, dtype, py::tuple(sizes));
}

py::list described(const std::vector<OnnxValue>& values) {
  py::list all;
  for (const OnnxValue& value : values) all.append(described(value));
  return all;
}

TensorList run_program(const OnnxProgram& program, const TensorList& inputs) {
  const py::gil_scoped_release released;
  std::vector<Array> arrays;
  for (const Tensor& input : inputs) arrays.push_back(input.array().contiguous());
  TensorList outputs;
  for (Array& output : value_or_raise(program.run(arrays))) outputs.emplace_back(std::move(output));
  return outputs;
}

OnnxProgram program_of(Result<OnnxModel> model, const std::string& context) {
  if (!model.ok()) raise_if_failed(model.status().with_context(context));
  Result<OnnxProgram> program = OnnxProgram::make(std::move(model).value());
  if (!program.ok()) raise_if_failed(program.status().with_context(context));
  return std::move(program).value();
}

std::unique_ptr<OnnxProgram> load_program(const std::string& path) {
  const py::gil_scoped_release released;
  return std::make_unique<OnnxProgram>(program_of(read_onnx(path), path));
}

// What the file would be when it is read again.
std::unique_ptr<OnnxProgram> program_again(const OnnxModel& model) {
  const py::gil_scoped_release released;
  return std::make_unique<OnnxProgram>(program_of(parse_onnx(onnx_bytes(model)), "export"));
}

// `forward` gets a list of Tensors and gives one.
OnnxModel exported(const py::function& forward, const Named& values, const TensorList& samples,
                   const std::string& name, const std::vector<std::string>& inputs,
                   const std::vector<std::string>& outputs, bool has_batch) {
  OnnxComputation computation;
  computation.run = [&forward](std::span<const Array> arrays) {
    py::list given;
    for (const Array& array : arrays) given.append(Tensor(array));
    std::vector<Array> results;
    for (const py::handle result : forward(given)) {
      results.push_back(required_tensor(result).array());
    }
    return results;
  };
  for (const auto& [own, value] : values) computation.values.push_back({own, {}, value.array()});
  std::vector<Array> arrays;
  for (const Tensor& sample : samples) arrays.push_back(sample.array().strided());
  return value_or_raise(
      export_onnx(computation, arrays,
                  {.name = name, .inputs = inputs, .outputs = outputs, .has_batch = has_batch}));
}

}  // namespace

void bind_onnx(py::module_& module) {
  py::class_<OnnxProgram>(module, "_OnnxProgram")
      .def("run", run_program, py::arg("inputs"))
      .def("inputs", [](const OnnxProgram& self) { return described(self.inputs()); })
      .def("outputs", [](const OnnxProgram& self) { return described(self.outputs()); })
      .def("metadata", [](const OnnxProgram& self) { return self.model().metadata; })
      .def("producer", [](const OnnxProgram& self) { return self.model().producer; })
      .def("opset", [](const OnnxProgram& self) { return self.model().opset; });
  py::class_<OnnxModel>(module, "_OnnxModel")
      .def("program", program_again)
      .def(
          "write",
          [](const OnnxModel& self, const std::string& path) {
            const py::gil_scoped_release released;
            raise_if_failed(write_onnx(path, self));
          },
          py::arg("path"));
  module.def("_onnx_load", load_program, py::arg("path"));
  module.def("_onnx_export", exported, py::arg("forward"), py::arg("values"), py::arg("samples"),
             py::arg("name"), py::arg("inputs"), py::arg("outputs"), py::arg("has_batch"));
}

}  // namespace weft::python
