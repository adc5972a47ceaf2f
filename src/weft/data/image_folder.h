// A folder of images as a dataset: one subfolder for each class, sorted by name.
//
//   ROOT/CLASS/FILE.png|.jpg|.jpeg            a tenth of each class is the test split
//   ROOT/train/CLASS/..., ROOT/test/CLASS/... where ROOT has both (or ROOT/val instead of test)
//
// The classes are those of the training split; folders without images, and those whose names begin
// with "." or "__", are ignored. Files are listed once, sorted by name, and decoded in the loader's
// threads when a batch needs them; each is resized to cover the wanted size and cropped to its
// middle. Links are followed, other files are ignored. Fails: kUnavailable if the folder cannot be
// read; kInvalidArgument if it has no images or too many, or if the test split has a class that the
// training split lacks; reading an image: kCorrupt "path: expected X, got Y".
// X, got Y".
#pragma once

#include <optional>
#include <string>

#include "weft/base/status.h"
#include "weft/data/dataset.h"
#include "weft/data/transform.h"

namespace weft {

struct ImageFolderOptions {
  std::int64_t channels = 3;
  std::int64_t height = 32;
  std::int64_t width = 32;
  bool in_memory = false;  // decodes all images at once, on the compute threads
  // The images are in an order drawn from the names of their files, with the classes mixed, and so
  // is the test tenth of each class, at least one of two images: a photo that is added later moves
  // few others. Otherwise the order is that of the names, and the last tenth is the test split.
  bool mixed = false;
};

// mean and deviation are computed from up to 1,024 training images, evenly spread.
Result<Dataset> open_image_folder(const std::string& path, Split split,
                                  const ImageFolderOptions& options);

// The files of a folder of images; none of them is opened.
struct ImageListing {
  std::vector<std::string> files;
  std::vector<std::int64_t> labels;  // one a file
  std::vector<std::string> class_names;
  bool own_split = false;  // ROOT/train and ROOT/test or ROOT/val
};
// Lists the files of one split, or of both.
Result<ImageListing> list_images(const std::string& root, std::optional<Split> split, bool mixed);

// Resizes `image` to cover `size` without distortion, and returns its middle.
Image fitted(const Image& image, ImageSize size);

}  // namespace weft
