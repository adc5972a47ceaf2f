// The datasets that Weft knows, as tensors.
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/define.h"
#include "core/module.h"
#include "weft/data/catalog.h"

namespace weft::python {
namespace {

namespace py = pybind11;

// A copy: what lies in a mapped file must not be written.
Tensor bytes_as_tensor(const SharedBytes& bytes, const Shape& shape) {
  return Tensor(Array::from(bytes.span(), shape));
}

Tensor labels_of(const Dataset& dataset) {
  std::vector<std::int64_t> labels;
  labels.reserve(static_cast<std::size_t>(dataset.size));
  for (std::int64_t i = 0; i < dataset.size; ++i) labels.push_back(dataset.label(i));
  return Tensor(Array::from(labels, {dataset.size}));
}

void add_values(const Dataset& dataset, py::dict& result) {
  switch (dataset.kind) {
    case DatasetKind::kImages:
      if (dataset.images.empty()) {
        throw std::invalid_argument(
            "[datasets] images that lie in files of their own: read them "
            "with another library");
      }
      result["images"] = bytes_as_tensor(
          dataset.images, {dataset.size, dataset.channels, dataset.height, dataset.width});
      result["mean"] = dataset.mean;
      result["deviation"] = dataset.deviation;
      break;
    case DatasetKind::kTokens: {
      std::vector<std::int64_t> tokens(static_cast<std::size_t>(dataset.tokens.size()));
      dataset.tokens.copy(0, tokens);
      result["tokens"] = Tensor(Array::from(tokens, {dataset.tokens.size()}));
      result["vocabulary"] = dataset.vocabulary;
      break;
    }
    case DatasetKind::kRows:
      result["rows"] = Tensor(dataset.rows);
      if (dataset.targets.defined()) result["targets"] = Tensor(dataset.targets);
      break;
  }
  if (!dataset.labels.empty()) {
    result["labels"] = labels_of(dataset);
    result["classes"] = dataset.classes;
    result["class_names"] = dataset.class_names;
  }
}

py::dict open(const std::string& name, bool train, const std::string& data_dir,
              const std::string& home) {
  Dataset dataset;
  {
    const py::gil_scoped_release released;
    dataset =
        value_or_raise(open_dataset(name, train ? Split::kTrain : Split::kTest, {data_dir, home}));
  }
  py::dict result;
  add_values(dataset, result);
  return result;
}

// The split as a dict; None if a file of the dataset is not in `folder`.
py::object open_in(const std::string& name, bool train, const std::string& folder) {
  std::optional<Dataset> dataset;
  {
    const py::gil_scoped_release released;
    dataset = value_or_raise(open_dataset_in(name, train ? Split::kTrain : Split::kTest, folder));
  }
  if (!dataset) return py::none();
  py::dict result;
  add_values(*dataset, result);
  return result;
}

std::vector<std::string> folders(const std::string& name, const std::string& data_dir,
                                 const std::string& home) {
  return value_or_raise(dataset_folders(name, {data_dir, home}));
}

// (URL, bytes, SHA-256) of each file.
std::vector<std::tuple<std::string, std::int64_t, std::string>> downloads(const std::string& name) {
  std::vector<std::tuple<std::string, std::int64_t, std::string>> result;
  for (DatasetDownload& file : value_or_raise(dataset_downloads(name))) {
    result.emplace_back(std::move(file.url), file.bytes, std::move(file.sha256));
  }
  return result;
}

}  // namespace

void bind_data(py::module_& module) {
  module.def("_open_dataset", open, py::arg("name"), py::arg("train"), py::arg("data_dir"),
             py::arg("home"));
  module.def("_open_dataset_in", open_in, py::arg("name"), py::arg("train"), py::arg("folder"));
  module.def("_dataset_folders", folders, py::arg("name"), py::arg("data_dir"), py::arg("home"));
  module.def("_dataset_downloads", downloads, py::arg("name"));
  module.def("_dataset_names", &dataset_names);
}

}  // namespace weft::python
