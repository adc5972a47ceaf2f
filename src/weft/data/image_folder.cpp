#include "weft/data/image_folder.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <system_error>

#include <fmt/format.h>

#include "weft/base/file.h"
#include "weft/base/parallel.h"
#include "weft/data/image_file.h"
#include "weft/data/transform_def.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFilesMax = std::size_t{1} << 26U;
constexpr std::size_t kFoldersMax = 65536;
constexpr std::size_t kImageFileBytesMax = std::size_t{256} << 20U;
constexpr std::int64_t kSideMax = 4096;
constexpr std::size_t kMeasuredMax = 1024;

struct Listing {
  std::vector<std::string> files;
  std::vector<std::int64_t> labels;
  std::vector<std::string> class_names;
};

bool is_image_name(const fs::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

// The entries of a folder that `wanted` takes, sorted by name.
template <class Wanted>
Result<std::vector<fs::path>> entries_of(const fs::path& folder, Wanted wanted) {
  std::error_code fault;
  std::vector<fs::path> entries;
  fs::directory_iterator at(folder, fault);
  for (; !fault && at != fs::directory_iterator(); at.increment(fault)) {
    if (wanted(*at)) entries.push_back(at->path());
    if (entries.size() > kFilesMax) {
      return invalid_argument(
          fmt::format("{}: expected at most {} entries, got more", folder.string(), kFilesMax));
    }
  }
  if (fault) return unavailable(fmt::format("{}: {}", folder.string(), fault.message()));
  std::sort(entries.begin(), entries.end());
  return entries;
}

// The folder of the split where ROOT has one a split; else nothing.
std::string split_folder(const std::string& root, Split split) {
  if (!is_folder(root + "/train")) return "";
  for (const char* test : {"/test", "/val"}) {
    if (is_folder(root + test)) return root + (split == Split::kTrain ? "/train" : test);
  }
  return "";
}

Result<Listing> list_images(const std::string& root, Split split) {
  const std::string own = split_folder(root, split);
  const std::string folder = own.empty() ? root : own;
  WEFT_TRY_ASSIGN(const auto classes, entries_of(folder, [](const fs::directory_entry& entry) {
                    std::error_code ignored;
                    return entry.is_directory(ignored);
                  }));
  if (classes.empty() || classes.size() > kFoldersMax) {
    return invalid_argument(fmt::format("{}: expected 1 to {} folders, one a class, got {}", folder,
                                        kFoldersMax, classes.size()));
  }
  Listing listing;
  for (std::size_t label = 0; label < classes.size(); ++label) {
    WEFT_TRY_ASSIGN(const auto files,
                    entries_of(classes[label], [](const fs::directory_entry& entry) {
                      std::error_code ignored;
                      return entry.is_regular_file(ignored) && is_image_name(entry.path());
                    }));
    listing.class_names.push_back(classes[label].filename().string());
    std::size_t begin = 0;
    std::size_t end = files.size();
    if (own.empty()) {
      const std::size_t cut = files.size() - files.size() / 10;
      (split == Split::kTrain ? end : begin) = cut;
    }
    for (std::size_t i = begin; i < end; ++i) {
      listing.files.push_back(files[i].string());
      listing.labels.push_back(static_cast<std::int64_t>(label));
    }
  }
  if (listing.files.empty() || listing.files.size() > kFilesMax) {
    return invalid_argument(fmt::format("{}: expected 1 to {} images of the {} split, got {}",
                                        folder, kFilesMax, to_string(split), listing.files.size()));
  }
  return listing;
}

// Covers `size` without bending the image, and cuts out the middle. The cut comes first, in the
// coordinates of the image, so that no image between is larger than the two.
Image fitted(const Image& image, ImageSize size) {
  const double scale =
      std::min(static_cast<double>(image.size.height) / static_cast<double>(size.height),
               static_cast<double>(image.size.width) / static_cast<double>(size.width));
  const auto side = [scale](std::int64_t wanted, std::int64_t most) {
    const auto length = std::llround(static_cast<double>(wanted) * scale);
    return static_cast<double>(std::clamp<std::int64_t>(length, 1, most));
  };
  const double middle[] = {side(size.height, image.size.height),
                           side(size.width, image.size.width)};
  Image cut = image;
  Rng unused(0);
  center_crop(cut, middle, unused);
  return resized(cut, size.height, size.width);
}

Status read_one(const std::string& path, ImageSize size, MutableByteSpan out) {
  WEFT_TRY_ASSIGN(const Bytes bytes, read_file(path, kImageFileBytesMax));
  Result<Image> image = decode_image(bytes, size.channels);
  if (!image.ok()) return image.status().with_context(path);
  const Image wanted = fitted(*image, size);
  std::copy(wanted.pixels.begin(), wanted.pixels.end(), out.begin());
  return {};
}

// Sums of one channel's values / 255 and of their squares.
struct Moments {
  double sum = 0;
  double squares = 0;
  double count = 0;
};

Status measure(Dataset& dataset, const std::vector<std::string>& files, ImageSize size) {
  const std::size_t count = std::min(files.size(), kMeasuredMax);
  const auto plane = static_cast<std::size_t>(size.height * size.width);
  std::vector<Moments> moments(static_cast<std::size_t>(size.channels));
  Bytes pixels(static_cast<std::size_t>(size.bytes()));
  for (std::size_t i = 0; i < count; ++i) {
    WEFT_TRY(read_one(files[i * files.size() / count], size, pixels));
    for (std::size_t at = 0; at < pixels.size(); ++at) {
      Moments& channel = moments[at / plane];
      const double value = pixels[at] / 255.0;
      channel.sum += value;
      channel.squares += value * value;
      channel.count += 1;
    }
  }
  dataset.mean.clear();
  dataset.deviation.clear();
  for (const Moments& channel : moments) {
    const double mean = channel.sum / channel.count;
    const double variance = channel.squares / channel.count - mean * mean;
    dataset.mean.push_back(mean);
    dataset.deviation.push_back(variance > 1e-12 ? std::sqrt(variance) : 1.0);
  }
  return {};
}

Status read_all(Dataset& dataset, const std::vector<std::string>& files, ImageSize size) {
  const auto image_bytes = static_cast<std::size_t>(size.bytes());
  Bytes images(files.size() * image_bytes);
  std::vector<Status> faults(files.size());
  parallel_for(dataset.size, 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      faults[i] =
          read_one(files[i], size, MutableByteSpan(images).subspan(i * image_bytes, image_bytes));
    }
  });
  for (Status& fault : faults) WEFT_TRY(std::move(fault));
  dataset.images = SharedBytes(std::move(images));
  dataset.read_image = nullptr;
  return {};
}

}  // namespace

Result<Dataset> open_image_folder(const std::string& path, Split split,
                                  const ImageFolderOptions& options) {
  const ImageSize size{options.channels, options.height, options.width};
  if ((size.channels != 1 && size.channels != 3) || size.height < 1 || size.width < 1 ||
      size.height > kSideMax || size.width > kSideMax) {
    return invalid_argument(
        fmt::format("image folder: expected 1 or 3 channels and sides of 1 to {}, got {}x{}x{}",
                    kSideMax, size.channels, size.height, size.width));
  }
  WEFT_TRY_ASSIGN(Listing listing, list_images(path, split));
  Dataset dataset;
  dataset.name = path;
  dataset.split = split;
  dataset.size = static_cast<std::int64_t>(listing.files.size());
  dataset.classes = static_cast<std::int64_t>(listing.class_names.size());
  dataset.class_names = std::move(listing.class_names);
  dataset.channels = size.channels;
  dataset.height = size.height;
  dataset.width = size.width;
  dataset.labels = pack_labels(listing.labels, dataset.classes);
  if (split == Split::kTrain) WEFT_TRY(measure(dataset, listing.files, size));
  if (options.in_memory) {
    WEFT_TRY(read_all(dataset, listing.files, size));
    return dataset;
  }
  const auto files = std::make_shared<const std::vector<std::string>>(std::move(listing.files));
  dataset.read_image = [files, size](std::int64_t index, MutableByteSpan out) {
    return read_one((*files)[static_cast<std::size_t>(index)], size, out);
  };
  return dataset;
}

}  // namespace weft
