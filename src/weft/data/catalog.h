// The known datasets: where their files may lie, how to get them, whether they are whole.
//
// Behind `weft data list|get|check` and the recipe's dataset name. Places are tried in this order:
// DataPlaces::data_dir/NAME, DataPlaces::home/.cache/weft/NAME, and where Debian's package puts
// the files. A file may be gzip (NAME.gz, dictd's NAME.dz) or plain. Nothing is downloaded.
// Fails: kInvalidArgument for an unknown name (lists the known ones), kUnavailable where no place
// has the files (says which command gets them), kCorrupt where a file is damaged.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"
#include "weft/data/dataset.h"
#include "weft/data/text_file.h"

namespace weft {

// Filled by whoever may read the environment; an empty string leaves the place out.
struct DataPlaces {
  std::string data_dir;  // WEFT_DATA_DIR
  std::string home;      // HOME
  // What a person says stands for the paths in a recipe; read by train/data_files.h.
  std::string data = {};
  // A folder that stands for data.path, or that it is below; then it is data_dir as well.
  std::string folder = {};
  std::string tokenizer = {};
  // The recipe came from others: its own paths count below the data folder only.
  bool foreign_recipe = false;
};

// Sorted.
std::vector<std::string> dataset_names();

// Reads one split; labels, sizes and UTF-8 are checked. `options` is for texts. "synthetic",
// "gaussian" and "markov" (synthetic.h) need no files.
Result<Dataset> open_dataset(std::string_view name, Split split, const DataPlaces& places,
                             const TextOptions& options = {});

// What the catalogue knows of a dataset of images without its files: sizes, classes, mean and
// deviation, but no samples. Nothing where the name is not of one.
std::optional<Dataset> known_images(std::string_view name);

struct DatasetReport {
  std::string name;
  std::string description;
  bool found = false;
  std::string folder;  // where it was found; empty for computed data
  std::string remedy;  // how to get it; empty if found
  // How to get it on a machine without a network: lines for a person; empty if found.
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

// What the command line prints; lines end in '\n'.
std::string data_list_text(const std::vector<DatasetReport>& reports);
std::string data_get_text(const DatasetReport& report);
std::string data_check_text(std::string_view name, const std::vector<FileReport>& files);

}  // namespace weft
