#include "weft/data/catalog.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "weft/base/hash.h"
#include "weft/data/idx.h"

namespace weft {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{64} << 20U;  // inflated

struct KnownFile {
  std::string_view name;    // without .gz
  std::string_view sha256;  // of the inflated contents; empty: not known
};

// The files of one split.
struct KnownSplit {
  KnownFile images;
  KnownFile labels;
  std::int64_t size;
};

struct KnownDataset {
  std::string_view name;
  std::string_view description;
  std::string_view package;         // of Debian and Ubuntu; empty: none
  std::string_view package_folder;  // where the package puts the files
  std::int64_t side;
  std::int64_t classes;
  double mean;
  double deviation;
  KnownSplit train;
  KnownSplit test;
};

constexpr KnownDataset kKnown[] = {
    {"fashion-mnist",
     "70,000 grey images of clothes, 28x28, 10 classes",
     "dataset-fashion-mnist",
     "/usr/share/datasets/fashion-mnist",
     28,
     10,
     0.2860,
     0.3530,
     {{"train-images-idx3-ubyte",
       "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"},
      {"train-labels-idx1-ubyte",
       "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"},
      60000},
     {{"t10k-images-idx3-ubyte",
       "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"},
      {"t10k-labels-idx1-ubyte",
       "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"},
      10000}},
    {"mnist",
     "70,000 handwritten digits, 28x28, 10 classes",
     "",
     "",
     28,
     10,
     0.1307,
     0.3081,
     {{"train-images-idx3-ubyte", ""}, {"train-labels-idx1-ubyte", ""}, 60000},
     {{"t10k-images-idx3-ubyte", ""}, {"t10k-labels-idx1-ubyte", ""}, 10000}},
};

constexpr std::string_view kSynthetic = "synthetic";
constexpr std::string_view kSyntheticDescription =
    "computed patterns with noise, 28x28, 10 classes";

Result<const KnownDataset*> lookup(std::string_view name) {
  for (const KnownDataset& known : kKnown) {
    if (known.name == name) return &known;
  }
  return invalid_argument(fmt::format("dataset: expected one of {}, got \"{}\"",
                                      fmt::join(dataset_names(), ", "), name));
}

const KnownSplit& split_of(const KnownDataset& known, Split split) {
  return split == Split::kTrain ? known.train : known.test;
}

std::array<KnownFile, 4> files_of(const KnownDataset& known) {
  return {known.train.images, known.train.labels, known.test.images, known.test.labels};
}

// The path of the file in `folder`, gzip first; nothing if neither is there.
std::optional<std::string> find_file(const std::string& folder, const KnownFile& file) {
  for (const std::string_view ending : {".gz", ""}) {
    std::string path = fmt::format("{}/{}{}", folder, file.name, ending);
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored)) return path;
  }
  return std::nullopt;
}

std::vector<std::string> folders_of(const KnownDataset& known, const DataPlaces& places) {
  std::vector<std::string> folders;
  if (!places.data_dir.empty())
    folders.push_back(fmt::format("{}/{}", places.data_dir, known.name));
  if (!places.home.empty()) {
    folders.push_back(fmt::format("{}/.cache/weft/{}", places.home, known.name));
  }
  if (!known.package_folder.empty()) folders.emplace_back(known.package_folder);
  return folders;
}

// The first folder that has all files, or an empty string.
std::string find_folder(const KnownDataset& known, const DataPlaces& places) {
  for (const std::string& folder : folders_of(known, places)) {
    const auto files = files_of(known);
    const bool whole = std::all_of(files.begin(), files.end(), [&](const KnownFile& file) {
      return find_file(folder, file).has_value();
    });
    if (whole) return folder;
  }
  return "";
}

std::string remedy_of(const KnownDataset& known, const DataPlaces& places) {
  if (!known.package.empty()) {
    return fmt::format("run: sudo apt-get install {}", known.package);
  }
  const std::string folder = places.data_dir.empty()
                                 ? fmt::format("~/.cache/weft/{}", known.name)
                                 : fmt::format("{}/{}", places.data_dir, known.name);
  const auto files = files_of(known);
  return fmt::format("put {}, {}, {} and {} (plain or .gz) into {}", files[0].name, files[1].name,
                     files[2].name, files[3].name, folder);
}

std::string image_size_text(std::int64_t count, std::int64_t side) {
  return fmt::format("[{}, {}, {}]", count, side, side);
}

Status check_images(const IdxFile& file, const KnownDataset& known, std::int64_t count) {
  const std::vector<std::int64_t> expected = {count, known.side, known.side};
  if (file.sizes == expected) return {};
  return corrupt(fmt::format("images: expected {}, got [{}]", image_size_text(count, known.side),
                             fmt::join(file.sizes, ", ")));
}

Status check_labels(const IdxFile& file, const KnownDataset& known, std::int64_t count) {
  if (file.sizes != std::vector<std::int64_t>{count}) {
    return corrupt(
        fmt::format("labels: expected [{}], got [{}]", count, fmt::join(file.sizes, ", ")));
  }
  for (const std::uint8_t label : file.values.span()) {
    if (label >= known.classes) {
      return corrupt(fmt::format("labels: expected values below {}, got {}", known.classes, label));
    }
  }
  return {};
}

// Reads one file and checks it as images or labels.
template <class Check>
Result<IdxFile> read_checked(const std::string& folder, const KnownFile& known_file, Check check) {
  const std::optional<std::string> path = find_file(folder, known_file);
  if (!path) return unavailable(fmt::format("{}/{}: no such file", folder, known_file.name));
  WEFT_TRY_ASSIGN(IdxFile file, read_idx(*path, kFileBytesMax));
  WEFT_TRY(Status(check(file)).with_context(*path));
  return file;
}

FileReport report_of(const std::string& folder, const KnownFile& known_file,
                     const Result<IdxFile>& file) {
  FileReport report;
  report.path =
      find_file(folder, known_file).value_or(fmt::format("{}/{}", folder, known_file.name));
  report.sha256_known = !known_file.sha256.empty();
  report.status = file.status();
  if (!file.ok()) return report;
  report.sha256 = to_hex(sha256(file->contents.span()));
  if (report.sha256_known && report.sha256 != known_file.sha256) {
    report.status = corrupt(fmt::format("{}: expected SHA-256 {} of the inflated contents, got {}",
                                        report.path, known_file.sha256, report.sha256));
  }
  return report;
}

DatasetReport describe(const KnownDataset& known, const DataPlaces& places) {
  DatasetReport report;
  report.name = known.name;
  report.description = known.description;
  report.folder = find_folder(known, places);
  report.found = !report.folder.empty();
  if (!report.found) report.remedy = remedy_of(known, places);
  return report;
}

DatasetReport describe_synthetic() {
  return {std::string(kSynthetic), std::string(kSyntheticDescription), true, "", ""};
}

Result<std::string> require_folder(const KnownDataset& known, const DataPlaces& places) {
  std::string folder = find_folder(known, places);
  if (!folder.empty()) return folder;
  return unavailable(fmt::format("{}: expected its four files in one of {}; got none; {}",
                                 known.name, fmt::join(folders_of(known, places), ", "),
                                 remedy_of(known, places)));
}

}  // namespace

std::vector<std::string> dataset_names() {
  std::vector<std::string> names;
  for (const KnownDataset& known : kKnown) names.emplace_back(known.name);
  names.emplace_back(kSynthetic);
  std::sort(names.begin(), names.end());
  return names;
}

Result<Dataset> open_dataset(std::string_view name, Split split, const DataPlaces& places) {
  if (name == kSynthetic) return make_synthetic_dataset({}, split);
  WEFT_TRY_ASSIGN(const KnownDataset* known, lookup(name));
  WEFT_TRY_ASSIGN(const std::string folder, require_folder(*known, places));
  const KnownSplit& files = split_of(*known, split);
  WEFT_TRY_ASSIGN(IdxFile images, read_checked(folder, files.images, [&](const IdxFile& file) {
                    return check_images(file, *known, files.size);
                  }));
  WEFT_TRY_ASSIGN(IdxFile labels, read_checked(folder, files.labels, [&](const IdxFile& file) {
                    return check_labels(file, *known, files.size);
                  }));
  Dataset dataset;
  dataset.name = known->name;
  dataset.split = split;
  dataset.size = files.size;
  dataset.height = known->side;
  dataset.width = known->side;
  dataset.classes = known->classes;
  dataset.images = std::move(images.values);
  dataset.labels = std::move(labels.values);
  dataset.mean = {known->mean};
  dataset.deviation = {known->deviation};
  return dataset;
}

std::vector<DatasetReport> list_datasets(const DataPlaces& places) {
  std::vector<DatasetReport> reports;
  for (const KnownDataset& known : kKnown) reports.push_back(describe(known, places));
  reports.push_back(describe_synthetic());
  return reports;
}

Result<DatasetReport> find_dataset(std::string_view name, const DataPlaces& places) {
  if (name == kSynthetic) return describe_synthetic();
  WEFT_TRY_ASSIGN(const KnownDataset* known, lookup(name));
  return describe(*known, places);
}

Result<std::vector<FileReport>> check_dataset(std::string_view name, const DataPlaces& places) {
  std::vector<FileReport> reports;
  if (name == kSynthetic) return reports;
  WEFT_TRY_ASSIGN(const KnownDataset* known, lookup(name));
  WEFT_TRY_ASSIGN(const std::string folder, require_folder(*known, places));
  for (const Split split : {Split::kTrain, Split::kTest}) {
    const KnownSplit& files = split_of(*known, split);
    const auto images = read_checked(folder, files.images, [&](const IdxFile& file) {
      return check_images(file, *known, files.size);
    });
    const auto labels = read_checked(folder, files.labels, [&](const IdxFile& file) {
      return check_labels(file, *known, files.size);
    });
    reports.push_back(report_of(folder, files.images, images));
    reports.push_back(report_of(folder, files.labels, labels));
  }
  return reports;
}

}  // namespace weft
