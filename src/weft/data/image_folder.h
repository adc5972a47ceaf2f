// A folder of images as a dataset: one subfolder a class, in the order of their names.
//
//   ROOT/CLASS/FILE.png|.jpg|.jpeg            a tenth of each class is the test split
//   ROOT/train/CLASS/..., ROOT/test/CLASS/... where ROOT has both (or ROOT/val instead of test)
//
// The classes are those of the training split; folders without images, and those whose names begin
// with "." or "__", are passed over. Files are listed once, in the order of their names, and
// decoded when a batch asks for them, in the loader's threads; each is resized so that it covers
// the wanted size, and the middle is cut out. Links are followed, other files are passed over.
// Fails: kUnavailable where the folder cannot be read; kInvalidArgument on one that has no images
// or too many, or a class to test that is not trained; reading an image: kCorrupt "path: expected
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
  // The images are in an order drawn by the names of their files, the classes among each other, and
  // so is the tenth of each class to test with, at least one of two: a photo that is added later
  // moves few others. Else the order is that of the names, and the last tenth is tested with.
  bool mixed = false;
};

// mean and deviation are of up to 1,024 training images, evenly spread.
Result<Dataset> open_image_folder(const std::string& path, Split split,
                                  const ImageFolderOptions& options);

// The files of a folder of images, without opening any.
struct ImageListing {
  std::vector<std::string> files;
  std::vector<std::int64_t> labels;  // one a file
  std::vector<std::string> class_names;
  bool own_split = false;  // ROOT/train and ROOT/test or ROOT/val
};
// Those of one split, or of both.
Result<ImageListing> list_images(const std::string& root, std::optional<Split> split, bool mixed);

// `image` as large as it must be to cover `size` without being bent, its middle cut out.
Image fitted(const Image& image, ImageSize size);

}  // namespace weft
