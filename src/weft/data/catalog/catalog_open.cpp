// How the files of a known dataset become a Dataset, each by its role.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "weft/base/file.h"
#include "weft/base/utf8.h"
#include "weft/data/catalog.h"
#include "weft/data/catalog/catalog_table.h"
#include "weft/data/cifar.h"
#include "weft/data/file/gzip.h"
#include "weft/data/idx.h"
#include "weft/data/text_file.h"

namespace weft {
namespace {

constexpr std::size_t kCatalogFileBytesMax = std::size_t{256} << 20U;  // inflated

// What the files of one split hold together.
struct Contents {
  SharedBytes images;
  SharedBytes labels;
  CifarRecords records;
  std::vector<std::string> class_names;
  SharedBytes text;
};

Status take_idx_images(const KnownDataset& known, const KnownFile& file, const SharedBytes& bytes,
                       Contents& contents) {
  WEFT_TRY_ASSIGN(const IdxView view, parse_idx(bytes.span()));
  if (view.sizes != std::vector<std::int64_t>{file.count, known.side, known.side}) {
    return corrupt(fmt::format("images: expected [{}, {}, {}], got [{}]", file.count, known.side,
                               known.side, fmt::join(view.sizes, ", ")));
  }
  contents.images = bytes.slice(bytes.size() - view.values.size(), view.values.size());
  return {};
}

Status take_idx_labels(const KnownDataset& known, const KnownFile& file, const SharedBytes& bytes,
                       Contents& contents) {
  WEFT_TRY_ASSIGN(const IdxView view, parse_idx(bytes.span()));
  if (view.sizes != std::vector<std::int64_t>{file.count}) {
    return corrupt(
        fmt::format("labels: expected [{}], got [{}]", file.count, fmt::join(view.sizes, ", ")));
  }
  for (const std::uint8_t label : view.values) {
    if (label >= known.classes) {
      return corrupt(fmt::format("labels: expected values below {}, got {}", known.classes, label));
    }
  }
  contents.labels = bytes.slice(bytes.size() - view.values.size(), view.values.size());
  return {};
}

Status take_text(const SharedBytes& bytes, Contents& contents) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.span().data()), bytes.size());
  const std::size_t valid = valid_utf8_prefix(text);
  if (valid != text.size()) {
    return corrupt(
        fmt::format("expected UTF-8, got byte {:02x} at offset {}", bytes.span()[valid], valid));
  }
  contents.text = bytes;
  return {};
}

// Checks one file and adds what it holds.
Status take(const KnownDataset& known, const KnownFile& file, const SharedBytes& bytes,
            Contents& contents) {
  switch (file.role) {
    case FileRole::kIdxImages:
      return take_idx_images(known, file, bytes, contents);
    case FileRole::kIdxLabels:
      return take_idx_labels(known, file, bytes, contents);
    case FileRole::kCifar10:
      return append_cifar(bytes.span(), CifarKind::kCifar10, file.count, contents.records);
    case FileRole::kCifar100:
      return append_cifar(bytes.span(), CifarKind::kCifar100, file.count, contents.records);
    case FileRole::kClassNames: {
      WEFT_TRY_ASSIGN(
          contents.class_names,
          parse_class_names(to_text(bytes.span()), static_cast<std::size_t>(file.count)));
      return {};
    }
    case FileRole::kText:
      break;
  }
  return take_text(bytes, contents);
}

Result<SharedBytes> read_contents(const std::string& path) {
  WEFT_TRY_ASSIGN(Bytes bytes, read_file(path, kCatalogFileBytesMax));
  if (!is_gzip(bytes)) return SharedBytes(std::move(bytes));
  Result<Bytes> inflated = gunzip(bytes, kCatalogFileBytesMax);
  if (!inflated.ok()) return inflated.status().with_context(path);
  return SharedBytes(std::move(*inflated));
}

// One value where all channels of the table are of a grey image.
std::vector<double> per_channel(const std::array<double, 3>& values, std::int64_t channels) {
  return {values.begin(), values.begin() + channels};
}

// Without samples.
Dataset images_of(const KnownDataset& known) {
  Dataset dataset;
  dataset.name = known.name;
  dataset.channels = known.channels;
  dataset.height = known.side;
  dataset.width = known.side;
  dataset.classes = known.classes;
  dataset.mean = per_channel(known.mean, known.channels);
  dataset.deviation = per_channel(known.deviation, known.channels);
  return dataset;
}

bool is_of(FileUse use, Split split) {
  return use == FileUse::kBoth || (use == FileUse::kTrain) == (split == Split::kTrain);
}

}  // namespace

std::string find_known_file(const std::string& folder, const KnownFile& file) {
  for (const std::string_view ending : {".gz", ".dz", ""}) {
    std::string path = fmt::format("{}/{}{}", folder, file.name, ending);
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored)) return path;
  }
  return "";
}

Result<SharedBytes> read_known_file(const KnownDataset& known, const KnownFile& file,
                                    const std::string& path) {
  WEFT_TRY_ASSIGN(SharedBytes bytes, read_contents(path));
  Contents contents;
  WEFT_TRY(take(known, file, bytes, contents).with_context(path));
  return bytes;
}

Result<Dataset> open_known(const KnownDataset& known, const std::string& folder, Split split,
                           const TextOptions& options) {
  Contents contents;
  for (const KnownFile& file : known.files) {
    if (!is_of(file.use, split)) continue;
    const std::string path = find_known_file(folder, file);
    if (path.empty()) return unavailable(fmt::format("{}/{}: no such file", folder, file.name));
    WEFT_TRY_ASSIGN(const SharedBytes bytes, read_contents(path));
    WEFT_TRY(take(known, file, bytes, contents).with_context(path));
  }
  if (known.channels == 0) {
    const ByteSpan bytes = contents.text.span();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return make_text_dataset(std::string(known.name), text, split, options);
  }
  if (!contents.records.labels.empty()) {
    contents.images = SharedBytes(std::move(contents.records.images));
    contents.labels = SharedBytes(std::move(contents.records.labels));
  }
  Dataset dataset = images_of(known);
  dataset.split = split;
  dataset.size = static_cast<std::int64_t>(contents.labels.size());
  dataset.class_names = std::move(contents.class_names);
  dataset.images = std::move(contents.images);
  dataset.labels = std::move(contents.labels);
  return dataset;
}

std::optional<Dataset> known_images(std::string_view name) {
  for (const KnownDataset& known : known_datasets()) {
    if (known.name == name && known.channels > 0) return images_of(known);
  }
  return std::nullopt;
}

}  // namespace weft
