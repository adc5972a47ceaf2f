#include "weft/data/image_folder.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <tuple>

#include <fmt/format.h>

#include "weft/base/file.h"
#include "weft/base/hash.h"
#include "weft/base/parallel.h"
#include "weft/data/file_ending.h"
#include "weft/data/image/transform_def.h"
#include "weft/data/image_file.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFilesMax = std::size_t{1} << 26U;
constexpr std::size_t kFoldersMax = 65536;
constexpr std::size_t kImageFileBytesMax = std::size_t{256} << 20U;
constexpr std::int64_t kSideMax = 4096;
constexpr std::size_t kMeasuredMax = 1024;

bool is_image_name(const fs::path& path) {
  return has_ending(path.filename().string(), {".png", ".jpg", ".jpeg"});
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

bool is_passed_over(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return name.starts_with(".") || name.starts_with("__");
}

// The folder of the split where ROOT has one a split; else nothing.
std::string split_folder(const std::string& root, Split split) {
  if (!is_folder(root + "/train")) return "";
  for (const char* test : {"/test", "/val"}) {
    if (is_folder(root + test)) return root + (split == Split::kTrain ? "/train" : test);
  }
  return "";
}

// The images of each class of a folder, by the names of the classes.
using ClassFiles = std::map<std::string, std::vector<fs::path>>;
Result<ClassFiles> class_files(const std::string& folder) {
  WEFT_TRY_ASSIGN(const auto classes, entries_of(folder, [](const fs::directory_entry& entry) {
                    std::error_code ignored;
                    return entry.is_directory(ignored) && !is_passed_over(entry.path());
                  }));
  ClassFiles files;
  std::size_t count = 0;
  for (const fs::path& of_class : classes) {
    WEFT_TRY_ASSIGN(auto images, entries_of(of_class, [](const fs::directory_entry& entry) {
                      std::error_code ignored;
                      return entry.is_regular_file(ignored) && is_image_name(entry.path());
                    }));
    count += images.size();
    if (!images.empty()) files.emplace(of_class.filename().string(), std::move(images));
    if (count > kFilesMax || files.size() > kFoldersMax) {
      return invalid_argument(fmt::format("{}: expected at most {} images in {} folders, got more",
                                          folder, kFilesMax, kFoldersMax));
    }
  }
  if (!files.empty()) return files;
  return invalid_argument(
      fmt::format("{}: expected folders of images (.png, .jpg, .jpeg), one a class, got {}", folder,
                  classes.empty() ? "no folders" : "folders without images"));
}

Hash128 name_hash(const fs::path& file) {
  const std::string name = file.filename().string();
  return xxh3_128(as_bytes(std::string_view(name)));
}

// In the order of a hash of their names, which neighbours do not share.
void order_by_hash(std::vector<fs::path>& files) {
  std::vector<std::pair<Hash128, fs::path>> hashed;
  hashed.reserve(files.size());
  for (fs::path& file : files) hashed.emplace_back(name_hash(file), std::move(file));
  std::sort(hashed.begin(), hashed.end());
  for (std::size_t i = 0; i < files.size(); ++i) files[i] = std::move(hashed[i].second);
}

// All classes among each other, so that the first files are of all of them.
void order_by_hash(ImageListing& listing) {
  std::vector<std::tuple<Hash128, std::int64_t, std::string>> hashed;
  for (std::size_t i = 0; i < listing.files.size(); ++i) {
    hashed.emplace_back(name_hash(listing.files[i]), listing.labels[i],
                        std::move(listing.files[i]));
  }
  std::sort(hashed.begin(), hashed.end());
  for (std::size_t i = 0; i < hashed.size(); ++i) {
    listing.labels[i] = std::get<1>(hashed[i]);
    listing.files[i] = std::move(std::get<2>(hashed[i]));
  }
}

// Keeps nine tenths of a class, or the rest.
void keep_part(std::vector<fs::path>& files, Split split, bool mixed) {
  if (mixed) order_by_hash(files);
  std::size_t test = files.size() / 10;
  if (mixed && files.size() > 1) test = std::max<std::size_t>(1, test);
  const auto cut = files.begin() + static_cast<std::ptrdiff_t>(files.size() - test);
  if (split == Split::kTrain) {
    files.erase(cut, files.end());
  } else {
    files.erase(files.begin(), cut);
  }
}

void append_files(const ClassFiles& files, ImageListing& listing) {
  for (const auto& [name, images] : files) {
    const auto place = std::find(listing.class_names.begin(), listing.class_names.end(), name);
    for (const fs::path& image : images) {
      listing.files.push_back(image.string());
      listing.labels.push_back(place - listing.class_names.begin());
    }
  }
}

// ROOT/test/X without ROOT/train/X.
Status check_classes(const ClassFiles& test, const ClassFiles& train, const std::string& folder) {
  for (const auto& [name, images] : test) {
    if (train.contains(name)) continue;
    return invalid_argument(fmt::format(
        "{}/{}: expected a class that the training images have too, got one that they have not",
        folder, name));
  }
  return {};
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

// REQUIRES: dataset.read_image, or its images in memory.
Status measure(Dataset& dataset, ImageSize size) {
  const auto files = static_cast<std::size_t>(dataset.size);
  const std::size_t count = std::min(files, kMeasuredMax);
  const auto plane = static_cast<std::size_t>(size.height * size.width);
  std::vector<Moments> moments(static_cast<std::size_t>(size.channels));
  Bytes read(static_cast<std::size_t>(size.bytes()));
  for (std::size_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::int64_t>(i * files / count);
    if (dataset.read_image) WEFT_TRY(dataset.read_image(index, read));
    const ByteSpan pixels = dataset.read_image ? ByteSpan(read) : dataset.image(index);
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

Result<ImageListing> list_images(const std::string& root, std::optional<Split> split, bool mixed) {
  const std::string test_folder = split_folder(root, Split::kTest);
  ImageListing listing;
  listing.own_split = !test_folder.empty();
  WEFT_TRY_ASSIGN(ClassFiles train, class_files(listing.own_split ? root + "/train" : root));
  for (const auto& [name, images] : train) listing.class_names.push_back(name);
  if (listing.own_split) {
    WEFT_TRY_ASSIGN(const ClassFiles test, class_files(test_folder));
    WEFT_TRY(check_classes(test, train, test_folder));
    if (split != Split::kTest) append_files(train, listing);
    if (split != Split::kTrain) append_files(test, listing);
  } else {
    for (auto& [name, images] : train) {
      if (split) keep_part(images, *split, mixed);
    }
    append_files(train, listing);
  }
  if (mixed) order_by_hash(listing);
  if (!listing.files.empty()) return listing;
  return invalid_argument(
      fmt::format("{}: expected 10 images or more of a class for a {} split, got fewer", root,
                  to_string(split.value_or(Split::kTrain))));
}

Image fitted(const Image& image, ImageSize size) {
  // The cut comes first, in the coordinates of the image, so that no image between is larger than
  // the two.
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

Result<Dataset> open_image_folder(const std::string& path, Split split,
                                  const ImageFolderOptions& options) {
  const ImageSize size{options.channels, options.height, options.width};
  if ((size.channels != 1 && size.channels != 3) || size.height < 1 || size.width < 1 ||
      size.height > kSideMax || size.width > kSideMax) {
    return invalid_argument(
        fmt::format("image folder: expected 1 or 3 channels and sides of 1 to {}, got {}x{}x{}",
                    kSideMax, size.channels, size.height, size.width));
  }
  WEFT_TRY_ASSIGN(ImageListing listing, list_images(path, split, options.mixed));
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
  if (options.in_memory) {
    WEFT_TRY(read_all(dataset, listing.files, size));
    if (split == Split::kTrain) WEFT_TRY(measure(dataset, size));
    return dataset;
  }
  const auto files = std::make_shared<const std::vector<std::string>>(std::move(listing.files));
  dataset.read_image = [files, size](std::int64_t index, MutableByteSpan out) {
    return read_one((*files)[static_cast<std::size_t>(index)], size, out);
  };
  if (split == Split::kTrain) WEFT_TRY(measure(dataset, size));
  return dataset;
}

}  // namespace weft
