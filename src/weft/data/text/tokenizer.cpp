// The byte and character tokenizers, and how files of any kind are told apart.
#include "weft/data/tokenizer.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include <fmt/format.h>

#include "weft/base/file.h"
#include "weft/base/utf8.h"
#include "weft/data/text/bpe_tokenizer.h"

namespace weft {
namespace {

constexpr std::size_t kTokenizerFileBytesMax = std::size_t{64} << 20U;
constexpr std::string_view kByteHeader = "weft-bytes 1\n";
constexpr std::string_view kCharacterHeader = "weft-characters 1\n";
constexpr std::int64_t kBytes = 256;

Status check_token(std::int32_t token, std::int64_t vocabulary) {
  if (token >= 0 && token < vocabulary) return {};
  return invalid_argument(
      fmt::format("decode: expected a token below {}, got {}", vocabulary, token));
}

class ByteTokenizer final : public Tokenizer {
 public:
  std::int64_t vocabulary() const override { return kBytes; }

  Result<std::vector<std::int32_t>> encode(std::string_view text) const override {
    std::vector<std::int32_t> tokens;
    tokens.reserve(text.size());
    for (const char byte : text) tokens.push_back(static_cast<std::uint8_t>(byte));
    return tokens;
  }

  Result<std::string> decode(std::span<const std::int32_t> tokens) const override {
    std::string text;
    text.reserve(tokens.size());
    for (const std::int32_t token : tokens) {
      WEFT_TRY(check_token(token, kBytes));
      text.push_back(static_cast<char>(token));
    }
    return text;
  }

  std::string file_text() const override { return std::string(kByteHeader); }
};

class CharacterTokenizer final : public Tokenizer {
 public:
  // Ascending, without doubles.
  explicit CharacterTokenizer(std::vector<std::uint32_t> characters)
      : characters_(std::move(characters)) {
    for (std::size_t i = 0; i < characters_.size(); ++i) {
      tokens_[characters_[i]] = static_cast<std::int32_t>(i);
    }
  }

  std::int64_t vocabulary() const override { return static_cast<std::int64_t>(characters_.size()); }

  Result<std::vector<std::int32_t>> encode(std::string_view text) const override {
    std::vector<std::int32_t> tokens;
    tokens.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
      const Utf8Character character = first_character(text.substr(at));
      if (character.length == 0) {
        return invalid_argument(fmt::format("encode: expected UTF-8, got byte {:02x} at offset {}",
                                            static_cast<std::uint8_t>(text[at]), at));
      }
      const auto token = tokens_.find(character.code_point);
      if (token == tokens_.end()) {
        return invalid_argument(
            fmt::format("encode: expected one of the {} characters of the vocabulary, got U+{:04X} "
                        "at offset {}",
                        characters_.size(), character.code_point, at));
      }
      tokens.push_back(token->second);
      at += character.length;
    }
    return tokens;
  }

  Result<std::string> decode(std::span<const std::int32_t> tokens) const override {
    std::string text;
    text.reserve(tokens.size());
    for (const std::int32_t token : tokens) {
      WEFT_TRY(check_token(token, vocabulary()));
      append_utf8(text, characters_[static_cast<std::size_t>(token)]);
    }
    return text;
  }

  std::string file_text() const override {
    std::string text(kCharacterHeader);
    for (const std::uint32_t character : characters_) text += fmt::format("U+{:04X}\n", character);
    return text;
  }

 private:
  std::vector<std::uint32_t> characters_;
  std::unordered_map<std::uint32_t, std::int32_t> tokens_;
};

bool is_character(std::uint32_t value) {
  return value <= 0x10FFFF && (value < 0xD800 || value >= 0xE000);
}

// The lines after the header.
Result<std::unique_ptr<Tokenizer>> parse_characters(std::string_view text) {
  std::vector<std::uint32_t> characters;
  for (std::size_t line = 2; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    const std::string_view entry = text.substr(0, end);
    std::uint32_t value = 0;
    bool good = end != std::string_view::npos && entry.substr(0, 2) == "U+";
    if (good) {
      const char* last = entry.data() + entry.size();
      const auto [stop, error] = std::from_chars(entry.data() + 2, last, value, 16);
      good = error == std::errc() && stop == last && is_character(value) &&
             (characters.empty() || characters.back() < value);
    }
    if (!good) {
      return corrupt(fmt::format("line {}: expected \"U+\" and a code point above the last, got {}",
                                 line,
                                 entry.size() > 16 ? "a long line" : to_hex(as_bytes(entry))));
    }
    characters.push_back(value);
    text.remove_prefix(end + 1);
  }
  if (characters.empty()) return corrupt("characters: expected at least one, got none");
  return std::unique_ptr<Tokenizer>(std::make_unique<CharacterTokenizer>(std::move(characters)));
}

}  // namespace

std::unique_ptr<Tokenizer> make_byte_tokenizer() { return std::make_unique<ByteTokenizer>(); }

Result<std::unique_ptr<Tokenizer>> make_character_tokenizer(std::string_view text) {
  std::vector<bool> seen(0x110000);
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Character character = first_character(text.substr(at));
    if (character.length == 0) {
      return invalid_argument(fmt::format("text: expected UTF-8, got byte {:02x} at offset {}",
                                          static_cast<std::uint8_t>(text[at]), at));
    }
    seen[character.code_point] = true;
    at += character.length;
  }
  std::vector<std::uint32_t> characters;
  for (std::uint32_t value = 0; value < seen.size(); ++value) {
    if (seen[value]) characters.push_back(value);
  }
  if (characters.empty()) return invalid_argument("text: expected characters, got none");
  return std::unique_ptr<Tokenizer>(std::make_unique<CharacterTokenizer>(std::move(characters)));
}

Result<std::unique_ptr<Tokenizer>> parse_tokenizer(std::string_view text) {
  if (text == kByteHeader) return make_byte_tokenizer();
  if (text.substr(0, kCharacterHeader.size()) == kCharacterHeader) {
    return parse_characters(text.substr(kCharacterHeader.size()));
  }
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start != std::string_view::npos && text[start] == '{') return parse_tokenizer_json(text);
  return corrupt("tokenizer: expected \"weft-bytes 1\", \"weft-characters 1\" or JSON, got others");
}

Result<std::unique_ptr<Tokenizer>> load_tokenizer(const std::string& path) {
  WEFT_TRY_ASSIGN(const Bytes bytes, read_file(path, kTokenizerFileBytesMax));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Result<std::unique_ptr<Tokenizer>> tokenizer = parse_tokenizer(text);
  if (!tokenizer.ok()) return tokenizer.status().with_context(path);
  return tokenizer;
}

}  // namespace weft
