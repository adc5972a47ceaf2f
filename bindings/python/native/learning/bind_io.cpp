// safetensors files: weft.save() and weft.load() of the package are written with these.
#include "core/define.h"
#include "core/module.h"
#include "weft/base/file.h"
#include "weft/io/checkpoint.h"
#include "weft/io/safetensors.h"
#include "weft/io/safetensors_digest.h"

namespace weft::python {
namespace {

namespace py = pybind11;

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
using Metadata = std::map<std::string, std::string>;

void save(const std::string& path, const NamedTensors& tensors, const Metadata& metadata) {
  const py::gil_scoped_release released;
  std::vector<Array> arrays;
  std::vector<SafetensorsTensor> entries;
  for (const auto& [name, tensor] : tensors) {
    const Array& array = arrays.emplace_back(tensor.array().contiguous());
    entries.push_back(
        {name, array.dtype(), array.shape(),
         ByteSpan(static_cast<const std::uint8_t*>(array.raw_data()), array.size_bytes())});
  }
  // What came from a file with digests is written with digests, of what is written now.
  SafetensorsMetadata texts(metadata.begin(), metadata.end());
  const bool sealed = has_digests(texts);
  if (sealed) add_digests(entries, texts);
  Bytes header = safetensors_header(entries, texts);
  if (sealed) seal_header(header);
  std::vector<ByteSpan> parts = {header};
  for (const SafetensorsTensor& entry : entries) parts.push_back(entry.values);
  raise_if_failed(write_file_atomically(path, parts));
}

Result<std::pair<NamedTensors, Metadata>> read(ByteSpan bytes) {
  WEFT_TRY_ASSIGN(const SafetensorsView view, parse_safetensors(bytes));
  WEFT_TRY(check_digests(bytes, view));
  NamedTensors tensors;
  for (const SafetensorsEntry& entry : view.entries) {
    WEFT_TRY_ASSIGN(Array array, to_array(entry));
    tensors.emplace_back(entry.name, Tensor(std::move(array)));
  }
  return std::pair(std::move(tensors), Metadata(view.metadata.begin(), view.metadata.end()));
}

std::pair<NamedTensors, Metadata> load(const std::string& path) {
  const py::gil_scoped_release released;
  const Bytes bytes = value_or_raise(read_file(path, kCheckpointBytesMax));
  auto loaded = read(bytes);
  if (!loaded.ok()) raise_if_failed(loaded.status().with_context(path));
  return std::move(loaded).value();
}

}  // namespace

void bind_io(py::module_& module) {
  module.def("_save", save, py::arg("path"), py::arg("tensors"), py::arg("metadata"));
  module.def("_load", load, py::arg("path"));
}

}  // namespace weft::python
