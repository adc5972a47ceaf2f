#include "weft/data/catalog.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/base/hash.h"
#include "weft/base/log.h"
#include "weft/base/nearest_name.h"
#include "weft/data/catalog/catalog_table.h"
#include "weft/data/synthetic.h"

namespace weft {
namespace {

constexpr GaussianImageOptions kGaussian = {.size = 20000};
constexpr std::int64_t kGaussianTestSize = 5000;
constexpr MarkovOptions kMarkov = {};

// A dataset that needs no files.
struct ComputedDataset {
  std::string_view name;
  std::string (*description)();
  Result<Dataset> (*open)(Split split, const TextOptions& options);
};

Result<Dataset> open_gaussian(Split split, const TextOptions& /*options*/) {
  GaussianImageOptions options = kGaussian;
  if (split == Split::kTest) options.size = kGaussianTestSize;
  return make_gaussian_images(options, split);
}

Result<Dataset> open_markov(Split split, const TextOptions& text) {
  MarkovOptions options = kMarkov;
  if (split == Split::kTest) options.size /= 8;
  options.context = text.context;
  WEFT_TRY_ASSIGN(MarkovText made, make_markov_text(options, split));
  return std::move(made.dataset);
}

const ComputedDataset kComputed[] = {
    {"synthetic", [] { return std::string("computed patterns with noise, 28x28, 10 classes"); },
     [](Split split, const TextOptions& /*options*/) { return make_synthetic_dataset({}, split); }},
    {"gaussian",
     [] {
       return fmt::format(
           "computed patterns in noise, 3x32x32, {} classes; the best accuracy is {:.4f}",
           kGaussian.classes,
           bayes_accuracy(kGaussian.classes, kGaussian.separation, kGaussian.label_noise));
     },
     open_gaussian},
    {"markov",
     [] {
       MarkovOptions options = kMarkov;
       options.size = 2;
       options.context = 1;
       return fmt::format("computed text, {} tokens; the least loss is {:.4f} bits a token",
                          kMarkov.vocabulary,
                          make_markov_text(options, Split::kTrain)->entropy_bits);
     },
     open_markov},
};

const ComputedDataset* find_computed(std::string_view name) {
  for (const ComputedDataset& computed : kComputed) {
    if (computed.name == name) return &computed;
  }
  return nullptr;
}

Result<const KnownDataset*> lookup(std::string_view name) {
  for (const KnownDataset& known : known_datasets()) {
    if (known.name == name) return &known;
  }
  return invalid_argument(fmt::format("dataset: expected one of {}, got \"{}\"{}",
                                      fmt::join(dataset_names(), ", "), name,
                                      did_you_mean(name, dataset_names())));
}

std::vector<std::string> folders_of(const KnownDataset& known, const DataPlaces& places) {
  std::vector<std::string> folders;
  const auto add = [&](std::string folder) {
    folders.push_back(folder);
    if (!known.subfolder.empty()) folders.push_back(fmt::format("{}/{}", folder, known.subfolder));
  };
  if (!places.data_dir.empty()) add(fmt::format("{}/{}", places.data_dir, known.name));
  if (!places.home.empty()) add(fmt::format("{}/.cache/weft/{}", places.home, known.name));
  if (!known.package_folder.empty()) folders.emplace_back(known.package_folder);
  return folders;
}

bool has_all_files(const KnownDataset& known, const std::string& folder) {
  return std::all_of(known.files.begin(), known.files.end(),
                     [&](const KnownFile& file) { return !find_known_file(folder, file).empty(); });
}

// The first folder that has all files, or an empty string.
std::string find_folder(const KnownDataset& known, const DataPlaces& places) {
  for (std::string& folder : folders_of(known, places)) {
    if (has_all_files(known, folder)) return std::move(folder);
  }
  return "";
}

// "a, b and c".
std::string names_text(std::span<const KnownFile> files) {
  std::string text;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string_view before = i == 0 ? "" : i + 1 == files.size() ? " and " : ", ";
    text += fmt::format("{}{}", before, files[i].name);
  }
  return text;
}

// Where a person puts the files.
std::string own_folder(const KnownDataset& known, const DataPlaces& places) {
  return places.data_dir.empty() ? fmt::format("~/.cache/weft/{}", known.name)
                                 : fmt::format("{}/{}", places.data_dir, known.name);
}

// Where to fetch the files on a machine with a network, and what to do with them on this one.
std::vector<std::string> steps_of(const KnownDataset& known, const DataPlaces& places) {
  std::vector<std::string> steps;
  const std::string folder = own_folder(known, places);
  if (!known.package.empty()) {
    steps.push_back(fmt::format("a package of Debian and Ubuntu has it: {}", known.package));
    steps.push_back(fmt::format(
        "without a network here, on a machine with one: apt-get download {}", known.package));
    steps.push_back(fmt::format("then here: sudo dpkg -i {}_*.deb", known.package));
  }
  if (!known.downloads.empty()) {
    steps.push_back(fmt::format("its makers describe it at {}", known.page));
    steps.emplace_back("weft downloads nothing; fetch where there is a network:");
  }
  bool packed = false;
  for (const KnownDownload& file : known.downloads) {
    steps.push_back(fmt::format("  {}", file.url));
    steps.push_back(fmt::format("    {} bytes, SHA-256 {}", file.bytes, file.sha256));
    packed = packed || file.url.ends_with(".tar.gz");
  }
  if (packed) {
    const std::string_view url = known.downloads.front().url;
    steps.push_back(fmt::format("then here: mkdir -p {0} && tar -xzf {1} -C {0}", folder,
                                url.substr(url.rfind('/') + 1)));
  } else if (!known.downloads.empty()) {
    steps.push_back(fmt::format("then here: put them into {}; they may stay packed", folder));
  }
  steps.push_back(
      fmt::format("weft data check {} compares the files with what they should hold", known.name));
  return steps;
}

std::string remedy_of(const KnownDataset& known, const DataPlaces& places) {
  const std::string folder = own_folder(known, places);
  if (!known.command.empty()) {
    return fmt::format("run: sudo apt-get install {} && mkdir -p {} && {} > {}/{}", known.package,
                       folder, known.command, folder, known.files[0].name);
  }
  if (!known.package.empty()) {
    return fmt::format("run: sudo apt-get install {}", known.package);
  }
  return fmt::format("put {} (plain or .gz) into {}", names_text(known.files), folder);
}

FileReport report_of(const KnownDataset& known, const KnownFile& file, const std::string& folder) {
  FileReport report;
  report.path = find_known_file(folder, file);
  report.sha256_known = !file.sha256.empty();
  const Result<SharedBytes> contents = read_known_file(known, file, report.path);
  report.status = contents.status();
  if (!contents.ok()) return report;
  report.sha256 = to_hex(sha256(contents->span()));
  if (report.sha256_known && report.sha256 != file.sha256) {
    report.status = corrupt(fmt::format("{}: expected SHA-256 {} of the inflated contents, got {}",
                                        report.path, file.sha256, report.sha256));
  }
  return report;
}

DatasetReport describe(const KnownDataset& known, const DataPlaces& places) {
  DatasetReport report;
  report.name = known.name;
  report.description = known.description;
  report.folder = find_folder(known, places);
  report.found = !report.folder.empty();
  if (!report.found) {
    report.remedy = remedy_of(known, places);
    report.steps = steps_of(known, places);
  }
  return report;
}

DatasetReport describe_computed(const ComputedDataset& computed) {
  return {std::string(computed.name), computed.description(), true, "", "", {}};
}

Result<std::string> require_folder(const KnownDataset& known, const DataPlaces& places) {
  std::string folder = find_folder(known, places);
  if (!folder.empty()) return folder;
  const std::size_t count = known.files.size();
  const std::string offers =
      known.package.empty()
          ? fmt::format("; `weft data get {}` shows where they are offered", known.name)
          : std::string();
  return unavailable(fmt::format(
      "{}: expected {} in one of {}; got none; {}{}", known.name,
      count == 1 ? fmt::format("{}", known.files[0].name) : fmt::format("its {} files", count),
      fmt::join(folders_of(known, places), ", "), remedy_of(known, places), offers));
}

}  // namespace

std::vector<std::string> dataset_names() {
  std::vector<std::string> names;
  for (const KnownDataset& known : known_datasets()) names.emplace_back(known.name);
  for (const ComputedDataset& computed : kComputed) names.emplace_back(computed.name);
  std::sort(names.begin(), names.end());
  return names;
}

Result<Dataset> open_dataset(std::string_view name, Split split, const DataPlaces& places,
                             const TextOptions& options) {
  if (const ComputedDataset* computed = find_computed(name)) return computed->open(split, options);
  WEFT_TRY_ASSIGN(const KnownDataset* known, lookup(name));
  WEFT_TRY_ASSIGN(const std::string folder, require_folder(*known, places));
  log(LogLevel::kInfo, "{}: reads {}", known->name, folder);
  return open_known(*known, folder, split, options);
}

Result<std::vector<std::string>> dataset_folders(std::string_view name, const DataPlaces& places) {
  if (find_computed(name) != nullptr) return std::vector<std::string>();
  WEFT_TRY_ASSIGN(const KnownDataset* known, lookup(name));
  return folders_of(*known, places);
}

Result<std::optional<Dataset>> open_dataset_in(std::string_view name, Split split,
                                               const std::string& folder) {
  if (find_computed(name) != nullptr) {
    return invalid_argument(
        fmt::format("{}: expected a dataset of files, got computed data", name));
  }
  WEFT_TRY_ASSIGN(const KnownDataset* known, lookup(name));
  if (!has_all_files(*known, folder)) return std::optional<Dataset>();
  log(LogLevel::kInfo, "{}: reads {}", known->name, folder);
  WEFT_TRY_ASSIGN(Dataset dataset, open_known(*known, folder, split, {}));
  return std::optional<Dataset>(std::move(dataset));
}

Result<std::vector<DatasetDownload>> dataset_downloads(std::string_view name) {
  std::vector<DatasetDownload> files;
  if (find_computed(name) != nullptr) return files;
  WEFT_TRY_ASSIGN(const KnownDataset* known, lookup(name));
  for (const KnownDownload& file : known->downloads) {
    files.push_back({std::string(file.url), file.bytes, std::string(file.sha256)});
  }
  return files;
}

std::vector<DatasetReport> list_datasets(const DataPlaces& places) {
  std::vector<DatasetReport> reports;
  for (const KnownDataset& known : known_datasets()) reports.push_back(describe(known, places));
  for (const ComputedDataset& computed : kComputed) reports.push_back(describe_computed(computed));
  return reports;
}

Result<DatasetReport> find_dataset(std::string_view name, const DataPlaces& places) {
  if (const ComputedDataset* computed = find_computed(name)) return describe_computed(*computed);
  WEFT_TRY_ASSIGN(const KnownDataset* known, lookup(name));
  return describe(*known, places);
}

Result<std::vector<FileReport>> check_dataset(std::string_view name, const DataPlaces& places) {
  std::vector<FileReport> reports;
  if (find_computed(name) != nullptr) return reports;
  WEFT_TRY_ASSIGN(const KnownDataset* known, lookup(name));
  WEFT_TRY_ASSIGN(const std::string folder, require_folder(*known, places));
  for (const KnownFile& file : known->files) reports.push_back(report_of(*known, file, folder));
  return reports;
}

}  // namespace weft
