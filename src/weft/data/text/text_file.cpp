#include "weft/data/text_file.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "weft/base/file.h"
#include "weft/base/utf8.h"
#include "weft/data/file/gzip.h"
#include "weft/data/file/mapped_file.h"
#include "weft/data/file_ending.h"
#include "weft/data/text/bpe_tokenizer.h"

namespace weft {
namespace {

constexpr std::string_view kTextOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kBpePrefix = "bpe:";
constexpr std::size_t kTextFilesMax = 100000;

Status check_utf8(std::string_view text) {
  const std::size_t valid = valid_utf8_prefix(text);
  if (valid == text.size()) return {};
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    return corrupt("expected UTF-8, got UTF-16; save the text as UTF-8");
  }
  return corrupt(fmt::format("expected UTF-8, got byte {:02x} at offset {}; save the text as UTF-8",
                             static_cast<std::uint8_t>(text[valid]), valid));
}

// The first nine tenths, or the rest; cut between two characters.
std::string_view part_of(std::string_view text, Split split) {
  std::size_t cut = text.size() / 10 * 9;
  while (cut < text.size() && (static_cast<std::uint8_t>(text[cut]) & 0xC0U) == 0x80U) ++cut;
  return split == Split::kTrain ? text.substr(0, cut) : text.substr(cut);
}

// "bpe:N", trained on the text.
Result<std::shared_ptr<const Tokenizer>> train_tokenizer(std::string_view name,
                                                         std::string_view text) {
  const std::string_view digits = name.substr(kBpePrefix.size());
  BpeTrainingOptions options;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), options.vocabulary);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return invalid_argument(fmt::format("tokenizer: expected bpe:N, got \"{}\"", name));
  }
  WEFT_TRY_ASSIGN(BpeModel model, train_bpe(text, options));
  WEFT_TRY_ASSIGN(auto tokenizer, BpeTokenizer::make(std::move(model)));
  return std::shared_ptr<const Tokenizer>(std::move(tokenizer));
}

Status check_token_bytes(std::int64_t token_bytes) {
  if (token_bytes == 1 || token_bytes == 2 || token_bytes == 4) return {};
  return invalid_argument(
      fmt::format("token file: expected 1, 2 or 4 bytes a token, got {}", token_bytes));
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> make_tokenizer(std::string_view name,
                                                        std::string_view text) {
  if (name == "byte") return std::shared_ptr<const Tokenizer>(make_byte_tokenizer());
  if (name == "character") {
    WEFT_TRY_ASSIGN(auto tokenizer, make_character_tokenizer(text));
    return std::shared_ptr<const Tokenizer>(std::move(tokenizer));
  }
  if (name.starts_with(kBpePrefix)) return train_tokenizer(name, text);
  if (name.find_first_of("./") == std::string_view::npos) {
    return invalid_argument(
        fmt::format("tokenizer: expected byte, character, bpe:N or a path, got \"{}\"", name));
  }
  WEFT_TRY_ASSIGN(auto tokenizer, load_tokenizer(std::string(name)));
  return std::shared_ptr<const Tokenizer>(std::move(tokenizer));
}

namespace {

Result<std::string> read_text_folder(const std::string& folder, std::size_t bytes_max) {
  WEFT_TRY_ASSIGN(const std::vector<std::string> files, text_files(folder));
  std::string all;
  for (const std::string& file : files) {
    WEFT_TRY_ASSIGN(const std::string text, read_text(file, bytes_max - all.size()));
    all += text;
    if (!text.ends_with('\n') && all.size() < bytes_max) all += '\n';
  }
  return all;
}

}  // namespace

Result<std::vector<std::string>> text_files(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code fault;
  std::vector<std::string> files;
  for (fs::directory_iterator at(folder, fault); !fault && at != fs::directory_iterator();
       at.increment(fault)) {
    std::string path = at->path().string();
    std::error_code ignored;
    if (is_text_name(path) && at->is_regular_file(ignored)) files.push_back(std::move(path));
    if (files.size() > kTextFilesMax) {
      return invalid_argument(
          fmt::format("{}: expected at most {} texts, got more", folder, kTextFilesMax));
    }
  }
  if (fault) return unavailable(fmt::format("{}: {}", folder, fault.message()));
  if (files.empty()) {
    return invalid_argument(
        fmt::format("{}: expected files .txt, .text or .txt.gz, got none", folder));
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool is_text_name(std::string_view path) { return has_ending(path, {".txt", ".text", ".txt.gz"}); }

Result<std::string> read_text(const std::string& path, std::size_t bytes_max) {
  if (is_folder(path)) return read_text_folder(path, bytes_max);
  WEFT_TRY_ASSIGN(Bytes bytes, read_file(path, bytes_max));
  if (is_gzip(bytes)) {
    Result<Bytes> inflated = gunzip(bytes, bytes_max);
    if (!inflated.ok()) return inflated.status().with_context(path);
    bytes = std::move(*inflated);
  }
  std::string text = to_text(bytes);
  if (text.starts_with(kTextOrderMark)) text.erase(0, kTextOrderMark.size());
  WEFT_TRY(check_utf8(text).with_context(path));
  return text;
}

Result<Dataset> make_text_dataset(std::string name, std::string_view text, Split split,
                                  const TextOptions& options) {
  WEFT_TRY(check_utf8(text).with_context(name));
  std::shared_ptr<const Tokenizer> tokenizer = options.given;
  if (tokenizer == nullptr) {
    WEFT_TRY_ASSIGN(tokenizer, make_tokenizer(options.tokenizer, text));
  }
  const std::string_view part = part_of(text, split);
  Result<std::vector<std::int32_t>> tokens = tokenizer->encode(part);
  if (!tokens.ok()) return tokens.status().with_context(name);
  WEFT_TRY_ASSIGN(Dataset dataset,
                  make_token_dataset(std::move(name), pack_tokens(*tokens, tokenizer->vocabulary()),
                                     tokenizer->vocabulary(), options.context));
  dataset.split = split;
  dataset.characters_per_token = static_cast<double>(count_characters(part)) /
                                 static_cast<double>(std::max<std::size_t>(1, tokens->size()));
  dataset.tokenizer = std::move(tokenizer);
  return dataset;
}

Result<Dataset> open_token_file(const std::string& path, const TokenFileOptions& options) {
  WEFT_TRY(check_token_bytes(options.token_bytes));
  WEFT_TRY_ASSIGN(SharedBytes bytes, map_file(path));
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (options.header_bytes < 0 || options.header_bytes > size ||
      (size - options.header_bytes) % options.token_bytes != 0) {
    return corrupt(
        fmt::format("{}: expected {} bytes of header and then {} bytes a token, got {} "
                    "bytes",
                    path, options.header_bytes, options.token_bytes, size));
  }
  const auto header = static_cast<std::size_t>(options.header_bytes);
  TokenSpan tokens{bytes.slice(header, bytes.size() - header), options.token_bytes};
  return make_token_dataset(path, std::move(tokens), options.vocabulary, options.context);
}

Status write_token_file(const std::string& path, std::span<const std::int32_t> tokens,
                        std::int64_t token_bytes) {
  WEFT_TRY(check_token_bytes(token_bytes));
  const std::int64_t limit = std::int64_t{1} << (8 * std::min<std::int64_t>(token_bytes, 4));
  Bytes bytes;
  bytes.reserve(tokens.size() * static_cast<std::size_t>(token_bytes));
  for (const std::int32_t token : tokens) {
    if (token < 0 || token >= limit) {
      return invalid_argument(
          fmt::format("{}: expected tokens from 0 to {}, got {}", path, limit - 1, token));
    }
    for (std::int64_t byte = 0; byte < token_bytes; ++byte) {
      bytes.push_back(static_cast<std::uint8_t>((token >> (8 * byte)) & 0xFF));
    }
  }
  return write_file_atomically(path, bytes);
}

}  // namespace weft
