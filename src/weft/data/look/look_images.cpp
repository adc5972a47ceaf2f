// What a folder of images holds.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <unordered_set>

#include <fmt/format.h>

#include "weft/base/file.h"
#include "weft/base/hash.h"
#include "weft/data/image_file.h"
#include "weft/data/image_folder.h"
#include "weft/data/look/look.h"
#include "weft/data/safe_text.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kImagesLookedAtMax = 2000;
constexpr std::size_t kImageFileBytes = std::size_t{256} << 20U;
constexpr std::size_t kNamedMax = 5;  // of odd files
constexpr std::int64_t kFewOfAClass = 20;
constexpr std::size_t kClassesShownMax = 1000;

bool is_grey(const Image& image) {
  const auto plane = static_cast<std::ptrdiff_t>(image.size.height * image.size.width);
  const auto red = image.pixels.begin();
  return std::equal(red, red + plane, red + plane) && std::equal(red, red + plane, red + 2 * plane);
}

// Collects what is odd about files, and names the first few.
struct OddFiles {
  std::size_t count = 0;
  std::string names;
  void add(const std::string& name) {
    if (++count <= kNamedMax) names += (names.empty() ? "" : ", ") + safe_text(name, 120);
    if (count == kNamedMax + 1) names += ", ...";
  }
};

class ImagesLooker {
 public:
  ImagesLooker(std::string root, DataLook& look) : root_(std::move(root)), look_(look) {}

  void take(const std::string& path) {
    const std::string name = fs::path(path).lexically_relative(root_).string();
    const Result<Bytes> bytes = read_file(path, kImageFileBytes);
    Result<Image> image = bytes.ok() ? decode_image(*bytes, 3) : bytes.status();
    if (!image.ok()) {
      unreadable_.add(fmt::format("{} ({})", name, image.status().message()));
      return;
    }
    const auto [first, fresh] = seen_.emplace(xxh3_128(*bytes), name);
    if (!fresh) odd_pair(name, first->second).add(fmt::format("{} = {}", name, first->second));
    note_size(image->size);
    look_.images.all_grey = look_.images.all_grey && is_grey(*image);
    if (look_.samples.size() < kNamedMax && sides_.size() % 7 == 1) {
      look_.samples.push_back(
          safe_text(fmt::format("{}: {}x{} pixels", name, image->size.width, image->size.height)));
    }
  }

  void finish() {
    ImagesLook& images = look_.images;
    if (!sides_.empty()) {
      const auto middle = sides_.begin() + static_cast<std::ptrdiff_t>(sides_.size() / 2);
      std::nth_element(sides_.begin(), middle, sides_.end());
      images.side_median = *middle;
    }
    if (unreadable_.count > 0) {
      look_.oddities.push_back(
          fmt::format("{} picture{} cannot be read, and must be replaced or removed: {}",
                      unreadable_.count, unreadable_.count == 1 ? "" : "s", unreadable_.names));
    }
    const auto say = [&](const OddFiles& odd, std::string_view what) {
      if (odd.count == 0) return;
      look_.oddities.push_back(fmt::format("{} picture{}{}: {}", odd.count,
                                           odd.count == 1 ? " is " : "s are ", what, odd.names));
    };
    say(in_both_splits_,
        "in the test set and among those to train on, which makes the test look too good");
    say(in_two_classes_, "in two classes at once");
    if (doubles_.count > 0) {
      look_.oddities.push_back(
          fmt::format("{} picture{} there more than once, which makes a test look too good: {}",
                      doubles_.count, doubles_.count == 1 ? " is" : "s are", doubles_.names));
    }
  }

 private:
  // "cat" of "cat/1.png" and of "train/cat/1.png".
  static std::string class_of(const std::string& name) {
    return fs::path(name).parent_path().filename().string();
  }
  OddFiles& odd_pair(const std::string& a, const std::string& b) {
    if (look_.images.own_split && *fs::path(a).begin() != *fs::path(b).begin()) {
      return in_both_splits_;
    }
    return class_of(a) != class_of(b) ? in_two_classes_ : doubles_;
  }
  void note_size(ImageSize size) {
    ImagesLook& images = look_.images;
    const bool first = sides_.empty();
    sides_.push_back(std::min(size.height, size.width));
    images.height_min = first ? size.height : std::min(images.height_min, size.height);
    images.width_min = first ? size.width : std::min(images.width_min, size.width);
    images.height_max = std::max(images.height_max, size.height);
    images.width_max = std::max(images.width_max, size.width);
  }
  fs::path root_;
  DataLook& look_;
  std::map<Hash128, std::string> seen_;
  std::vector<std::int64_t> sides_;
  OddFiles unreadable_;
  OddFiles doubles_;
  OddFiles in_both_splits_;
  OddFiles in_two_classes_;
};

// With a test set of its own: classes of which it has nothing.
Status note_untested(const std::string& root, DataLook& look) {
  WEFT_TRY_ASSIGN(const ImageListing test, list_images(root, Split::kTest, false));
  const std::set<std::int64_t> tested(test.labels.begin(), test.labels.end());
  OddFiles untested;
  for (std::size_t i = 0; i < test.class_names.size(); ++i) {
    if (!tested.contains(static_cast<std::int64_t>(i))) untested.add(test.class_names[i]);
  }
  if (untested.count > 0) {
    look.oddities.push_back(fmt::format("{} class{} no pictures to test with: {}.", untested.count,
                                        untested.count == 1 ? " has" : "es have", untested.names));
  }
  return {};
}

// Files that no class takes: of other kinds, or in folders that are too deep.
void note_passed_over(const std::string& root, const ImageListing& listing, DataLook& look) {
  constexpr int kFoldersDeep = 3;
  constexpr std::size_t kEntriesMax = 1000000;
  const std::unordered_set<std::string> taken(listing.files.begin(), listing.files.end());
  std::vector<std::string> others;
  std::size_t entries = 0;
  std::error_code fault;
  fs::recursive_directory_iterator at(root, fs::directory_options::skip_permission_denied, fault);
  for (; !fault && at != fs::recursive_directory_iterator() && entries < kEntriesMax;
       at.increment(fault), ++entries) {
    std::error_code unknown;
    const std::string name = at->path().filename().string();
    const bool is_folder = at->is_directory(unknown);
    const bool hidden = name.starts_with(".") || name.starts_with("__");
    if (is_folder && (hidden || at.depth() >= kFoldersDeep)) at.disable_recursion_pending();
    if (is_folder || hidden || taken.contains(at->path().string())) continue;
    others.push_back(at->path().lexically_relative(root).string());
  }
  if (others.empty()) return;
  std::sort(others.begin(), others.end());
  OddFiles odd;
  for (const std::string& name : others) odd.add(name);
  look.oddities.push_back(
      fmt::format("{} file{} passed over, since only .png, .jpg and .jpeg in the folder of a class "
                  "count: {}",
                  odd.count, odd.count == 1 ? " is" : "s are", odd.names));
}

// Where one folder is chosen that should have been two, and the like.
void note_classes(DataLook& look) {
  const auto& classes = look.images.classes;
  if (classes.size() == 1) {
    look.oddities.emplace_back("There is one class only: nothing can be distinguished.");
  }
  OddFiles few;
  std::int64_t most = 0;
  for (const auto& [name, count] : classes) {
    most = std::max(most, count);
    if (count < kFewOfAClass) few.add(fmt::format("{} ({})", name, count));
  }
  if (few.count > 0) {
    look.oddities.push_back(
        fmt::format("{} {} fewer than {} pictures: {}. A model learns little of them.", few.count,
                    few.count == 1 ? "class has" : "classes have", kFewOfAClass, few.names));
  }
  const auto fewest = std::min_element(classes.begin(), classes.end(),
                                       [](auto& a, auto& b) { return a.second < b.second; });
  if (fewest != classes.end() && most > 10 * fewest->second) {
    look.oddities.push_back(fmt::format(
        "The classes are of very different size: {} has {} pictures, the largest has {}.",
        fewest->first, fewest->second, most));
  }
}

}  // namespace

Status look_at_images(const std::string& path, DataLook& look) {
  look.kind = LookKind::kImages;
  WEFT_TRY_ASSIGN(const ImageListing listing, list_images(path, std::nullopt, false));
  ImagesLook& images = look.images;
  images.own_split = listing.own_split;
  images.images = static_cast<std::int64_t>(listing.files.size());
  if (listing.own_split) {
    WEFT_TRY_ASSIGN(const ImageListing training, list_images(path, Split::kTrain, false));
    images.training = static_cast<std::int64_t>(training.files.size());
  }
  std::vector<std::int64_t> counts(listing.class_names.size());
  for (const std::int64_t label : listing.labels) ++counts[static_cast<std::size_t>(label)];
  for (std::size_t i = 0; i < counts.size() && i < kClassesShownMax; ++i) {
    images.classes.emplace_back(safe_text(listing.class_names[i]), counts[i]);
  }
  const std::size_t looked_at = std::min(listing.files.size(), kImagesLookedAtMax);
  images.looked_at = static_cast<std::int64_t>(looked_at);
  ImagesLooker looker(path, look);
  for (std::size_t i = 0; i < looked_at; ++i) {
    looker.take(listing.files[i * listing.files.size() / looked_at]);
  }
  looker.finish();
  note_classes(look);
  if (listing.own_split) WEFT_TRY(note_untested(path, look));
  note_passed_over(path, listing, look);
  return {};
}

}  // namespace weft
