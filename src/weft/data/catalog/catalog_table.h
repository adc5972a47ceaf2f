// The table of known datasets, for catalog.cpp and catalog_open.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "weft/base/status.h"
#include "weft/data/dataset.h"

namespace weft {

enum class FileRole : std::uint8_t {
  kIdxImages,
  kIdxLabels,
  kCifar10,
  kCifar100,
  kClassNames,
  kText,
};

enum class FileUse : std::uint8_t { kTrain, kTest, kBoth };

struct KnownFile {
  std::string_view name;  // without .gz or .dz
  FileRole role;
  FileUse use;
  std::int64_t count;       // samples or class names; 0: any
  std::string_view sha256;  // of the inflated contents; empty: not known
};

// One file as its makers publish it.
struct KnownDownload {
  std::string_view url;
  std::int64_t bytes;
  std::string_view sha256;  // of the file as it is offered
};

struct KnownDataset {
  std::string_view name;
  std::string_view description;
  std::string_view package = {};         // of Debian and Ubuntu; empty: none
  std::string_view package_folder = {};  // where the package puts the files; empty: nowhere
  std::string_view subfolder = {};       // where the files may lie too, below the dataset's folder
  std::string_view command = {};  // writes the first file to its standard output; empty: none
  std::string_view page = {};     // where its makers describe it; empty: a package has it
  std::span<const KnownDownload> downloads = {};
  std::span<const KnownFile> files = {};
  // For images; 0 for other data.
  std::int64_t channels = 0;
  std::int64_t side = 0;
  std::int64_t classes = 0;
  std::array<double, 3> mean = {};
  std::array<double, 3> deviation = {};
};

std::span<const KnownDataset> known_datasets();

// Reads and checks the files of one split that lie in `folder`.
struct TextOptions;
Result<Dataset> open_known(const KnownDataset& known, const std::string& folder, Split split,
                           const TextOptions& options);
// Reads the decompressed contents of a file and checks all of it.
Result<SharedBytes> read_known_file(const KnownDataset& known, const KnownFile& file,
                                    const std::string& path);
// The path of the file in `folder`, a compressed one first; empty if it is not there.
std::string find_known_file(const std::string& folder, const KnownFile& file);

}  // namespace weft
