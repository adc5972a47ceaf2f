// What a file of tokens and a pair of arrays hold.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "weft/base/file.h"
#include "weft/data/file/mapped_file.h"
#include "weft/data/look/look.h"
#include "weft/data/npy.h"
#include "weft/data/open_path.h"
#include "weft/data/safe_text.h"

namespace weft {
namespace {

// So much of a file tells how wide its numbers are.
constexpr std::size_t kGuessBytes = std::size_t{1} << 20U;
constexpr std::int64_t kClassesShown = 20;
constexpr std::int64_t kFewRows = 10;  // of a class

std::int64_t token_at(ByteSpan bytes, std::size_t at, std::size_t width) {
  std::int64_t value = 0;
  for (std::size_t i = width; i > 0; --i) value = value << 8 | bytes[at + i - 1];
  return value;
}

// How far apart the bytes at even and at odd places are distributed: 0 equally, 1 not at all.
double parity_distance(ByteSpan bytes) {
  std::array<std::array<double, 256>, 2> counts = {};
  for (std::size_t i = 0; i < bytes.size(); ++i) ++counts[i % 2][bytes[i]];
  double apart = 0;
  for (std::size_t value = 0; value < 256; ++value) {
    apart += std::abs(counts[0][value] - counts[1][value]);
  }
  return apart / static_cast<double>(std::max<std::size_t>(1, bytes.size()));
}

// The upper half of a number of 4 bytes is small and does not vary as the lower one does; of 2
// bytes the upper one has other values than the lower; single bytes are alike everywhere.
std::int64_t guessed_width(ByteSpan bytes, std::size_t file_bytes) {
  std::int64_t upper = 0;
  std::int64_t lower = 0;
  for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
    lower = std::max(lower, token_at(bytes, at, 2));
    upper = std::max(upper, token_at(bytes, at + 2, 2));
  }
  if (file_bytes % 4 == 0 && upper < 16 && lower > 8 * (upper + 1)) return 4;
  constexpr double kAlike = 0.2;
  return file_bytes % 2 == 0 && parity_distance(bytes) > kAlike ? 2 : 1;
}

Status take_tokens(const std::string& path, TokensLook& seen) {
  WEFT_TRY_ASSIGN(const SharedBytes file, map_file(path));
  const ByteSpan bytes = file.span();
  if (seen.token_bytes == 0) {
    seen.token_bytes =
        guessed_width(bytes.first(std::min(bytes.size(), kGuessBytes)), bytes.size());
  }
  const auto width = static_cast<std::size_t>(seen.token_bytes);
  if (bytes.size() % width != 0) {
    return corrupt(fmt::format("{}: expected tokens of {} bytes, got {} bytes in all",
                               safe_text(path, 200), width, bytes.size()));
  }
  for (std::size_t at = 0; at < bytes.size(); at += width) {
    seen.largest = std::max(seen.largest, token_at(bytes, at, width));
  }
  seen.tokens += static_cast<std::int64_t>(bytes.size() / width);
  return {};
}

void note_classes_of_rows(const Dataset& rows, DataLook& look) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(rows.classes));
  for (std::int64_t i = 0; i < rows.size; ++i) ++counts[static_cast<std::size_t>(rows.label(i))];
  std::string few;
  std::int64_t named = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] >= kFewRows || ++named > kClassesShown) continue;
    few += fmt::format("{}{} ({})", few.empty() ? "" : ", ", i, counts[i]);
  }
  look.arrays.class_count = rows.classes;
  if (named == 0) return;
  look.oddities.push_back(fmt::format("{} of {} classes have fewer than {} rows: {}{}", named,
                                      counts.size(), kFewRows, few,
                                      named > kClassesShown ? ", ..." : ""));
}

void note_missing(const Array& values, const char* file, DataLook& look) {
  std::int64_t missing = 0;
  for (const float value : values.contiguous().flat<float>())
    missing += std::isfinite(value) ? 0 : 1;
  if (missing == 0) return;
  look.oddities.push_back(
      fmt::format("{} of {} values of {} are no finite numbers{}", missing, values.size(), file,
                  file[0] == 'x' ? "; NaN counts as the mean of its column." : "."));
}

std::string array_text(const Array& array) {
  return fmt::format("{} {}", to_string(array.dtype()), to_string(array.shape()));
}

}  // namespace

Status look_at_tokens(const std::string& path, DataLook& look) {
  look.kind = LookKind::kTokens;
  TokensLook& seen = look.tokens;
  seen.own_split = is_folder(path);
  if (!seen.own_split) {
    WEFT_TRY(take_tokens(path, seen));
  } else {
    WEFT_TRY(take_tokens(token_split_file(path, Split::kTrain), seen));
    WEFT_TRY(take_tokens(token_split_file(path, Split::kTest), seen));
  }
  if (seen.token_bytes == 1 && seen.tokens > 0) {
    look.oddities.emplace_back(
        "The file may also hold other numbers than bytes: set data.token_bytes where it does.");
  }
  return {};
}

Status look_at_arrays(const std::string& folder, DataLook& look) {
  look.kind = LookKind::kArrays;
  const std::string targets_file = array_file(folder, 'y');
  if (targets_file.empty()) {
    return unavailable(safe_text(folder, 200) + ": expected y.npy beside x.npy, got none");
  }
  WEFT_TRY_ASSIGN(const Array inputs, read_npy(array_file(folder, 'x')));
  WEFT_TRY_ASSIGN(const Array targets, read_npy(targets_file));
  look.arrays.inputs = array_text(inputs);
  look.arrays.targets = array_text(targets);
  look.arrays.classes = !is_floating(targets.dtype());
  WEFT_TRY_ASSIGN(const Dataset rows, make_row_dataset(safe_text(folder, 200), inputs, targets));
  look.arrays.rows = rows.size;
  note_missing(rows.rows, "x.npy", look);
  if (look.arrays.classes) {
    note_classes_of_rows(rows, look);
  } else {
    note_missing(rows.targets, "y.npy", look);
  }
  return {};
}

}  // namespace weft
