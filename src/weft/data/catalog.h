// The known datasets: where their files may be, how to obtain them, and whether they are complete.
//
// It implements `weft data list|get|check` and the recipe's dataset name. Places are tried in this
// order: DataPlaces::data_dir/NAME, DataPlaces::home/.cache/weft/NAME, and where Debian's package
// puts the files. A file may be gzip (NAME.gz, dictd's NAME.dz) or plain. Nothing is downloaded.
// Fails: kInvalidArgument for an unknown name (lists the known ones), kUnavailable if no place has
// the files (names the command that gets them), kCorrupt if a file is damaged.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"
#include "weft/data/dataset.h"
#include "weft/data/text_file.h"

namespace weft {

// The caller fills it from the environment; an empty string leaves the place out.
struct DataPlaces {
  std::string data_dir;  // WEFT_DATA_DIR
  std::string home;      // HOME
  // The path that a person gave in place of the recipe's paths; train/data/data_files.h reads it.
  std::string data = {};
  // A folder in place of data.path, or the base of a relative one; it also serves as data_dir.
  std::string folder = {};
  std::string tokenizer = {};
  // The recipe came from another peer: its own paths are looked up below the data folder only.
  bool foreign_recipe = false;
};

// The names are sorted.
std::vector<std::string> dataset_names();

// Reads one split; labels, sizes and UTF-8 are checked. `options` is for texts. "synthetic",
// "gaussian" and "markov" (synthetic.h) need no files.
Result<Dataset> open_dataset(std::string_view name, Split split, const DataPlaces& places,
                             const TextOptions& options = {});

// The folders in which the files are looked for, in this order; none for computed data.
Result<std::vector<std::string>> dataset_folders(std::string_view name, const DataPlaces& places);
// The split, from the files in `folder`; empty unless all files of the dataset are there.
Result<std::optional<Dataset>> open_dataset_in(std::string_view name, Split split,
                                               const std::string& folder);

// A file as the dataset's makers offer it.
struct DatasetDownload {
  std::string url;
  std::int64_t bytes = 0;
  std::string sha256;  // of the file as it is transferred, hexadecimal
};
// Empty if they offer none. Files that end in .tar.gz hold a folder of files.
Result<std::vector<DatasetDownload>> dataset_downloads(std::string_view name);

// The catalogue's description of an image dataset without its files: sizes, classes, mean and
// deviation, but no samples. Empty if the name is of no image dataset.
std::optional<Dataset> known_images(std::string_view name);

struct DatasetReport {
  std::string name;
  std::string description;
  bool found = false;
  std::string folder;  // where it was found; empty for computed data
  std::string remedy;  // how to get it; empty if found
  // How to obtain it on a machine without a network: lines for a person; empty if found.
  std::vector<std::string> steps = {};
};

std::vector<DatasetReport> list_datasets(const DataPlaces& places);
Result<DatasetReport> find_dataset(std::string_view name, const DataPlaces& places);

struct FileReport {
  std::string path;
  Status status;              // ok, or what is wrong with it
  std::string sha256;         // of the inflated contents, hexadecimal; empty if unreadable
  bool sha256_known = false;  // whether the catalogue has a checksum to compare with
};

// Reads every file whole: counts, sizes, labels and, where known, the checksum.
Result<std::vector<FileReport>> check_dataset(std::string_view name, const DataPlaces& places);

// The texts that the command line prints; lines end in '\n'.
std::string data_list_text(const std::vector<DatasetReport>& reports);
std::string data_get_text(const DatasetReport& report);
std::string data_check_text(std::string_view name, const std::vector<FileReport>& files);

}  // namespace weft
