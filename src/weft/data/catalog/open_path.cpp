#include "weft/data/open_path.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "weft/base/file.h"
#include "weft/data/file_ending.h"
#include "weft/data/npy.h"

namespace weft {
namespace {

// The first nine tenths of the tokens, or the rest.
Status keep_split(Dataset& dataset, Split split) {
  const std::int64_t cut = dataset.tokens.size() / 10 * 9;
  const auto width = static_cast<std::size_t>(dataset.tokens.token_bytes);
  const std::size_t at = static_cast<std::size_t>(cut) * width;
  SharedBytes& bytes = dataset.tokens.bytes;
  bytes = split == Split::kTrain ? bytes.slice(0, at) : bytes.slice(at, bytes.size() - at);
  dataset.split = split;
  return dataset.set_context(dataset.context);
}

Result<Dataset> open_token_folder(const std::string& folder, Split split,
                                  const TokenFileOptions& options) {
  WEFT_TRY_ASSIGN(Dataset dataset, open_token_file(token_split_file(folder, split), options));
  dataset.split = split;
  return dataset;
}

Array rows_in_order(const Array& values, const std::vector<std::size_t>& order) {
  const auto width = static_cast<std::size_t>(values.dim(1));
  Array out = Array::empty(values.shape());
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::copy_n(values.data<float>() + order[i] * width, width, out.data<float>() + i * width);
  }
  return out;
}

// As the rows of a table that is mixed.
void mix_rows(Dataset& dataset) {
  const std::vector<std::size_t> order = mixed_order(static_cast<std::size_t>(dataset.size));
  dataset.rows = rows_in_order(dataset.rows, order);
  if (dataset.targets.defined()) dataset.targets = rows_in_order(dataset.targets, order);
  if (dataset.labels.empty()) return;
  std::vector<std::int64_t> labels;
  labels.reserve(order.size());
  for (const std::size_t row : order) {
    labels.push_back(dataset.label(static_cast<std::int64_t>(row)));
  }
  dataset.labels = pack_labels(labels, dataset.classes);
}

Result<Dataset> open_arrays(const std::string& folder, Split split, bool mixed) {
  WEFT_TRY_ASSIGN(const Array inputs, read_npy(array_file(folder, 'x')));
  const std::string labels_file = array_file(folder, 'y');
  if (labels_file.empty()) return unavailable(folder + ": expected y.npy beside x.npy, got none");
  WEFT_TRY_ASSIGN(const Array labels, read_npy(labels_file));
  WEFT_TRY_ASSIGN(Dataset dataset, make_row_dataset(folder, inputs, labels));
  if (mixed) mix_rows(dataset);
  WEFT_TRY(keep_row_split(dataset, split));
  return dataset;
}

}  // namespace

std::string array_file(const std::string& folder, char letter) {
  const auto capital = static_cast<char>(letter - 'a' + 'A');
  for (const char first : {letter, capital}) {
    for (const char* const ending : {".npy", ".NPY"}) {
      std::string path = fmt::format("{}/{}{}", folder, first, ending);
      if (is_file(path)) return path;
    }
  }
  return "";
}

std::string token_split_file(const std::string& folder, Split split) {
  if (split == Split::kTrain) return folder + "/train.bin";
  return folder + (is_file(folder + "/test.bin") ? "/test.bin" : "/val.bin");
}

Result<Dataset> make_row_dataset(std::string name, const Array& inputs, const Array& given) {
  const std::int64_t count = inputs.ndim() > 0 ? inputs.dim(0) : 0;
  const bool values = is_floating(given.dtype());
  const bool one_column = !values && given.ndim() == 2 && given.dim(1) == 1;
  const Array labels = one_column ? given.contiguous().reshape({given.dim(0)}) : given;
  if (count < 1 || inputs.size() < 1 || labels.ndim() < 1 || labels.ndim() > (values ? 2 : 1) ||
      labels.dim(0) != count || labels.size() < 1) {
    return invalid_argument(
        fmt::format("{}: expected inputs [n, ...] and labels [n], got {} and {}", name,
                    to_string(inputs.shape()), to_string(labels.shape())));
  }
  Dataset dataset;
  dataset.name = std::move(name);
  dataset.kind = DatasetKind::kRows;
  dataset.size = count;
  dataset.rows = inputs.to(DType::kF32).contiguous().reshape({count, -1});
  if (values) {
    dataset.targets = labels.to(DType::kF32).contiguous().reshape({count, -1});
    return dataset;
  }
  const std::vector<std::int64_t> numbers = labels.to(DType::kI64).to_vector<std::int64_t>();
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  if (*least < 0 || *most > 65535) {
    return invalid_argument(fmt::format("{}: expected labels from 0 to 65535, got {} to {}",
                                        dataset.name, *least, *most));
  }
  dataset.classes = *most + 1;
  dataset.labels = pack_labels(numbers, dataset.classes);
  return dataset;
}

Result<Dataset> open_path(const std::string& path, Split split, const PathOptions& options) {
  TokenFileOptions tokens = options.tokens;
  tokens.context = options.text.context;
  if (is_folder(path)) {
    if (is_file(path + "/train.bin")) return open_token_folder(path, split, tokens);
    if (!array_file(path, 'x').empty()) return open_arrays(path, split, options.csv.mixed);
    return open_image_folder(path, split, options.images);
  }
  if (is_text_name(path)) {
    WEFT_TRY_ASSIGN(const std::string text, read_text(path));
    return make_text_dataset(path, text, split, options.text);
  }
  if (has_ending(path, ".bin")) {
    WEFT_TRY_ASSIGN(Dataset dataset, open_token_file(path, tokens));
    WEFT_TRY(keep_split(dataset, split));
    return dataset;
  }
  if (is_table_name(path)) {
    CsvOptions csv = options.csv;
    if (has_ending(path, ".tsv") && csv.separator == ',') csv.separator = '\t';
    WEFT_TRY_ASSIGN(const CsvTable table, read_csv(path, csv));
    return make_csv_dataset(path, table, split, options.csv_dataset);
  }
  if (!is_file(path)) return unavailable(fmt::format("{}: no such file or folder", path));
  return invalid_argument(
      fmt::format("{}: expected a folder (of class folders, with train.bin, or with x.npy and "
                  "y.npy), or a file .txt, .txt.gz, .bin, .csv or .tsv, got another",
                  path));
}

}  // namespace weft
