#include "weft/train/data/data_mark.h"

#include <algorithm>

#include <fmt/format.h>

#include "weft/base/hash.h"
#include "weft/data/tokenizer.h"

namespace weft {
namespace {

constexpr std::size_t kWholeTokensMax = std::size_t{64} << 20U;
constexpr std::size_t kPieces = 1000;
constexpr std::size_t kPieceBytes = std::size_t{64} << 10U;
constexpr std::size_t kMarkBytesMax = std::size_t{1} << 20U;

std::string hash_text(ByteSpan bytes) {
  std::string text;
  for (const std::uint8_t byte : xxh3_128(bytes)) text += fmt::format("{:02x}", byte);
  return text;
}

std::string hash_text(std::string_view text) { return hash_text(as_bytes(text)); }

std::string hash_of_words(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += fmt::format("{} {}\n", word.size(), word);
  return hash_text(std::string_view(all));
}

std::string token_hash(ByteSpan bytes) {
  if (bytes.size() <= kWholeTokensMax) return hash_text(bytes);
  std::string pieces;
  const std::size_t step = (bytes.size() - kPieceBytes) / (kPieces - 1);
  for (std::size_t i = 0; i < kPieces; ++i) {
    pieces += hash_text(bytes.subspan(i * step, kPieceBytes));
  }
  return hash_text(std::string_view(pieces));
}

class Mark {
 public:
  template <class Value>
  void add(std::string_view label, const Value& value) {
    text_ += fmt::format("{}\t{}\n", label, value);
  }
  std::string text() const {
    return text_.size() <= kMarkBytesMax
               ? text_
               : fmt::format("columns\t{}\n", hash_text(std::string_view(text_)));
  }

 private:
  std::string text_;
};

// Without what would end a line of the mark.
std::string label_of(std::string_view what, std::size_t number, const std::string& name) {
  const bool plain = std::none_of(name.begin(), name.end(), [](char letter) {
    return static_cast<unsigned char>(letter) < ' ';
  });
  return plain && !name.empty() ? fmt::format("{} \"{}\"", what, name)
                                : fmt::format("{} {}", what, number + 1);
}

void add_columns(const DataDescription& data, Mark& mark) {
  for (std::size_t i = 0; i < data.columns.size(); ++i) {
    const ColumnDescription& column = data.columns[i];
    mark.add(label_of("column", i, column.name),
             fmt::format("{} {} {} {} {}", hash_text(std::string_view(column.name)), column.mean,
                         column.deviation, column.missing, hash_of_words(column.words)));
  }
  for (std::size_t i = 0; i < data.target_columns.size(); ++i) {
    const TargetDescription& target = data.target_columns[i];
    mark.add(label_of("learned column", i, target.name),
             fmt::format("{} {} {}", hash_text(std::string_view(target.name)), target.mean,
                         target.deviation));
  }
}

// The next line of `text`, which loses it.
std::string_view next_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

}  // namespace

std::string data_mark(const Dataset& training) {
  Mark mark;
  mark.add("kind", to_string(training.kind));
  mark.add("classes", fmt::format("{} {}", training.classes, hash_of_words(training.class_names)));
  if (training.kind == DatasetKind::kTokens) {
    mark.add("vocabulary", training.vocabulary);
    if (training.tokenizer != nullptr) {
      mark.add("tokenizer", hash_text(std::string_view(training.tokenizer->file_text())));
    }
  }
  add_columns(training, mark);
  mark.add("number of samples", training.size);
  mark.add("labels", hash_text(training.labels.span()));
  if (training.kind == DatasetKind::kTokens) {
    mark.add("text or tokens", token_hash(training.tokens.bytes.span()));
  }
  return mark.text();
}

Status check_data_mark(std::string_view own, std::string_view theirs) {
  if (theirs.empty()) return {};
  while (!own.empty() || !theirs.empty()) {
    const std::string_view mine = next_line(own);
    if (mine == next_line(theirs)) continue;
    const std::string_view label = mine.substr(0, mine.find('\t'));
    return invalid_argument(fmt::format(
        "data: this machine's training data differ from the group's ({}); every member needs the "
        "same files (--data PATH says where they are here), unless the run's recipe has "
        "data.private = true",
        label.empty() ? "columns" : label));
  }
  return {};
}

}  // namespace weft
