// A folder of images as a dataset: one subfolder a class, in the order of their names.
//
//   ROOT/CLASS/FILE.png|.jpg|.jpeg            the last tenth of each class is the test split
//   ROOT/train/CLASS/..., ROOT/test/CLASS/... where ROOT has both (or ROOT/val instead of test)
//
// Files are listed once, in the order of their names, and decoded when a batch asks for them, in
// the loader's threads; each is resized so that it covers the wanted size, and the middle is cut
// out. Links are followed, other files are passed over.
// Fails: kUnavailable where the folder cannot be read; kInvalidArgument on one that has no images
// or too many; reading an image: kCorrupt "path: expected X, got Y".
#pragma once

#include <string>

#include "weft/data/dataset.h"

namespace weft {

struct ImageFolderOptions {
  std::int64_t channels = 3;
  std::int64_t height = 32;
  std::int64_t width = 32;
  bool in_memory = false;  // decodes all images at once, on the compute threads
};

// mean and deviation are of up to 1,024 training images, evenly spread.
Result<Dataset> open_image_folder(const std::string& path, Split split,
                                  const ImageFolderOptions& options);

}  // namespace weft
