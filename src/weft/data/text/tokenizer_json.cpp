// Hugging Face's tokenizer.json, as far as byte-level BPE needs it: read and written.
#include <algorithm>
#include <functional>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/base/utf8.h"
#include "weft/data/text/bpe_tokenizer.h"

namespace weft {
namespace {

using Json = nlohmann::json;

constexpr int kDepthMax = 16;
constexpr std::size_t kByteCount = 256;

// "type" of a part; "" where there is none.
std::string type_of(const Json& part) {
  const auto type = part.is_object() ? part.find("type") : part.end();
  return type != part.end() && type->is_string() ? type->get<std::string>() : std::string();
}

// The field of an object, or nothing where it is absent or null.
const Json* field(const Json& part, const char* name) {
  if (!part.is_object()) return nullptr;
  const auto found = part.find(name);
  return found == part.end() || found->is_null() ? nullptr : &*found;
}

bool flag(const Json& part, const char* name, bool otherwise) {
  const Json* found = field(part, name);
  return found != nullptr && found->is_boolean() ? found->get<bool>() : otherwise;
}

const std::string* text_field(const Json& part, const char* name) {
  const Json* found = field(part, name);
  return found != nullptr ? found->get_ptr<const std::string*>() : nullptr;
}

// Ids may leave gaps, but no more than this, so that a small file takes little memory.
std::uint64_t id_limit(std::size_t entries) {
  constexpr std::uint64_t kGap = 65536;
  return std::min(static_cast<std::uint64_t>(kBpeTokensMax), 4 * entries + kGap);
}

// The id that `json` is, below the limit for so many entries.
std::optional<std::int64_t> id_of(const Json* json, std::size_t entries) {
  if (json == nullptr || !json->is_number_unsigned()) return std::nullopt;
  const auto value = json->get<std::uint64_t>();
  if (value >= id_limit(entries)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::string printable(std::string_view text) {
  return text.size() <= 64 &&
                 std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; })
             ? fmt::format("\"{}\"", text)
             : fmt::format("{} bytes", text.size());
}

// GPT-2's characters back to bytes; nothing where one is no such character.
std::optional<std::string> bytes_of(std::string_view text) {
  static const auto kByteOf = [] {
    std::array<int, 0x200> table{};
    table.fill(-1);
    for (std::size_t byte = 0; byte < kByteCount; ++byte) {
      table[byte_characters()[byte]] = static_cast<int>(byte);
    }
    return table;
  }();
  std::string bytes;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    if (character.length == 0 || character.code_point >= kByteOf.size()) return std::nullopt;
    const int byte = kByteOf[character.code_point];
    if (byte < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(byte));
    text.remove_prefix(character.length);
  }
  return bytes;
}

std::string characters_of(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    append_utf8(text, byte_characters()[static_cast<std::uint8_t>(byte)]);
  }
  return text;
}

// Where a token of the file is: by its text as the file has it.
using TokenIds = std::unordered_map<std::string, std::int32_t>;

Status place_token(BpeModel& model, std::int64_t id, std::string bytes) {
  const auto at = static_cast<std::size_t>(id);
  if (model.tokens.size() <= at) model.tokens.resize(at + 1);
  if (!model.tokens[at].empty() && model.tokens[at] != bytes) {
    return corrupt(fmt::format("vocab: expected one token for id {}, got two", id));
  }
  model.tokens[at] = std::move(bytes);
  return {};
}

Status read_vocabulary(const Json& json, BpeModel& model, TokenIds& ids) {
  const Json* vocabulary = field(json, "vocab");
  if (vocabulary == nullptr || !vocabulary->is_object()) {
    return corrupt("model.vocab: expected an object, got none");
  }
  for (const auto& [text, id] : vocabulary->items()) {
    const auto place = id_of(&id, vocabulary->size());
    if (!place) {
      return corrupt(fmt::format("model.vocab: {}: expected an id below {}, got another",
                                 printable(text), id_limit(vocabulary->size())));
    }
    // A token that is not in GPT-2's characters is one that was added: its text is its bytes.
    WEFT_TRY(place_token(model, *place, bytes_of(text).value_or(text)));
    ids[text] = static_cast<std::int32_t>(*place);
  }
  return {};
}

// "left right" or ["left", "right"].
std::optional<std::pair<std::string, std::string>> merge_of(const Json& json) {
  if (json.is_array() && json.size() == 2 && json[0].is_string() && json[1].is_string()) {
    return std::pair(json[0].get<std::string>(), json[1].get<std::string>());
  }
  if (!json.is_string()) return std::nullopt;
  const auto& text = json.get_ref<const std::string&>();
  const std::size_t space = text.find(' ');
  if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
    return std::nullopt;
  }
  return std::pair(text.substr(0, space), text.substr(space + 1));
}

Status read_merges(const Json& json, BpeModel& model, const TokenIds& ids) {
  const Json* merges = field(json, "merges");
  if (merges == nullptr || !merges->is_array()) {
    return corrupt("model.merges: expected an array, got none");
  }
  for (std::size_t i = 0; i < merges->size(); ++i) {
    const auto merge = merge_of((*merges)[i]);
    if (!merge) {
      return corrupt(fmt::format("model.merges[{}]: expected two tokens, got others", i));
    }
    const auto left = ids.find(merge->first);
    const auto right = ids.find(merge->second);
    if (left == ids.end() || right == ids.end()) {
      return corrupt(
          fmt::format("model.merges[{}]: expected two tokens of the vocabulary, got {} "
                      "and {}",
                      i, printable(merge->first), printable(merge->second)));
    }
    model.merges.emplace_back(left->second, right->second);
  }
  return {};
}

Status read_model(const Json& json, BpeModel& model) {
  const std::string type = type_of(json);
  if (!json.is_object() || (type != "BPE" && !type.empty())) {
    return corrupt(fmt::format("model.type: expected \"BPE\", got {}", printable(type)));
  }
  for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const std::string* text = text_field(json, name);
    if (text != nullptr && !text->empty()) {
      return corrupt(
          fmt::format("model.{}: expected none (byte-level BPE), got {}", name, printable(*text)));
    }
  }
  if (flag(json, "byte_fallback", false)) {
    return corrupt("model.byte_fallback: expected false (byte-level BPE), got true");
  }
  const Json* dropout = field(json, "dropout");
  if (dropout != nullptr && !(dropout->is_number() && dropout->get<double>() == 0)) {
    return corrupt("model.dropout: expected none (one text, one encoding), got some");
  }
  model.whole_pieces = flag(json, "ignore_merges", false);
  TokenIds ids;
  WEFT_TRY(read_vocabulary(json, model, ids));
  return read_merges(json, model, ids);
}

Status read_added(const Json& json, BpeModel& model) {
  const Json* list = field(json, "added_tokens");
  if (list == nullptr) return {};
  if (!list->is_array() || list->size() > kBpeAddedMax) {
    return corrupt(
        fmt::format("added_tokens: expected an array of at most {}, got another", kBpeAddedMax));
  }
  for (const Json& entry : *list) {
    const auto id = id_of(field(entry, "id"), model.tokens.size() + list->size());
    const std::string* content = text_field(entry, "content");
    if (!id || content == nullptr || content->empty()) {
      return corrupt("added_tokens: expected an id and a content each, got others");
    }
    for (const char* name : {"lstrip", "rstrip", "single_word"}) {
      if (flag(entry, name, false)) {
        return corrupt(fmt::format("added_tokens: {}: expected {} false, got true",
                                   printable(*content), name));
      }
    }
    const auto at = static_cast<std::size_t>(*id);
    if (model.tokens.size() <= at) model.tokens.resize(at + 1);
    model.tokens[at] = *content;
    model.added.push_back(
        {static_cast<std::int32_t>(*id), *content, flag(entry, "special", false)});
  }
  return {};
}

// A literal text as a pattern.
std::string escaped(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       static_cast<std::uint8_t>(c) >= 0x80 || c == ' ';
    if (!plain) pattern.push_back('\\');
    pattern.push_back(c);
  }
  return pattern;
}

Status read_split(const Json& json, BpeModel& model) {
  const Json* pattern = field(json, "pattern");
  const std::string* regex = pattern == nullptr ? nullptr : text_field(*pattern, "Regex");
  const std::string* literal = pattern == nullptr ? nullptr : text_field(*pattern, "String");
  const std::string* behavior = text_field(json, "behavior");
  const bool invert = flag(json, "invert", false);
  if ((regex == nullptr && literal == nullptr) || behavior == nullptr) {
    return corrupt("pre_tokenizer Split: expected a pattern and a behavior, got others");
  }
  PieceRule rule;
  rule.pattern = regex != nullptr ? *regex : escaped(*literal);
  if (*behavior == "Removed" && invert) {
    rule.keep_gaps = false;
  } else if (*behavior != "Isolated") {
    return corrupt(
        fmt::format("pre_tokenizer Split: expected the behavior Isolated, or Removed and invert, "
                    "got {}",
                    printable(*behavior)));
  }
  model.rules.push_back(std::move(rule));
  return {};
}

Status read_pre_tokenizer(const Json& json, BpeModel& model, bool& byte_level) {
  const std::string type = type_of(json);
  if (type == "Split") return read_split(json, model);
  if (type == "ByteLevel") {
    byte_level = true;
    model.space_before = flag(json, "add_prefix_space", true);
    if (flag(json, "use_regex", true)) model.rules.push_back({std::string(kGpt2Pattern)});
    return {};
  }
  const Json* parts = type == "Sequence" ? field(json, "pretokenizers") : nullptr;
  if (parts == nullptr || !parts->is_array()) {
    return corrupt(fmt::format(
        "pre_tokenizer: expected ByteLevel, Split or a Sequence of them, got {}", printable(type)));
  }
  for (const Json& part : *parts) {
    if (type_of(part) == "Sequence") {
      return corrupt("pre_tokenizer: expected no Sequence in a Sequence, got one");
    }
    if (byte_level) return corrupt("pre_tokenizer: expected ByteLevel last, got more after it");
    WEFT_TRY(read_pre_tokenizer(part, model, byte_level));
  }
  return {};
}

// What the rest of the file says must be what we do.
Status check_rest(const Json& json) {
  const Json* normalizer = field(json, "normalizer");
  const bool empty_sequence = normalizer != nullptr && type_of(*normalizer) == "Sequence" &&
                              field(*normalizer, "normalizers") != nullptr &&
                              field(*normalizer, "normalizers")->empty();
  if (normalizer != nullptr && !empty_sequence) {
    return corrupt(
        fmt::format("normalizer: expected none, got {}", printable(type_of(*normalizer))));
  }
  const Json* decoder = field(json, "decoder");
  if (decoder != nullptr && type_of(*decoder) != "ByteLevel") {
    return corrupt(
        fmt::format("decoder: expected ByteLevel, got {}", printable(type_of(*decoder))));
  }
  return {};
}

}  // namespace

const std::array<std::uint8_t, 256>& byte_order() {
  static const auto kOrder = [] {
    std::array<std::uint8_t, kByteCount> order{};
    const auto visible = [](std::size_t byte) {
      return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    };
    std::size_t at = 0;
    for (const bool wanted : {true, false}) {
      for (std::size_t byte = 0; byte < kByteCount; ++byte) {
        if (visible(byte) == wanted) order[at++] = static_cast<std::uint8_t>(byte);
      }
    }
    return order;
  }();
  return kOrder;
}

const std::array<std::uint32_t, 256>& byte_characters() {
  static const auto kCharacters = [] {
    std::array<std::uint32_t, kByteCount> characters{};
    constexpr std::size_t kVisible = 188;
    for (std::size_t i = 0; i < kByteCount; ++i) {
      const std::uint8_t byte = byte_order()[i];
      characters[byte] =
          i < kVisible ? byte : static_cast<std::uint32_t>(kByteCount + i - kVisible);
    }
    return characters;
  }();
  return kCharacters;
}

Result<std::unique_ptr<Tokenizer>> parse_tokenizer_json(std::string_view text) {
  bool deep = false;
  const auto bounded = [&deep](int depth, Json::parse_event_t /*event*/, Json& /*value*/) {
    deep = deep || depth > kDepthMax;
    return !deep;
  };
  const Json json = Json::parse(text.begin(), text.end(), bounded, /*allow_exceptions=*/false);
  if (deep) return corrupt(fmt::format("tokenizer.json: expected at most {} levels", kDepthMax));
  if (json.is_discarded() || !json.is_object()) {
    return corrupt("tokenizer.json: expected one JSON object, got other text");
  }
  BpeModel model;
  model.rules.clear();
  const Json* body = field(json, "model");
  if (body == nullptr) return corrupt("model: expected an object, got none");
  WEFT_TRY(read_model(*body, model));
  WEFT_TRY(read_added(json, model));
  bool byte_level = false;
  const Json* pre_tokenizer = field(json, "pre_tokenizer");
  if (pre_tokenizer != nullptr) WEFT_TRY(read_pre_tokenizer(*pre_tokenizer, model, byte_level));
  WEFT_TRY(check_rest(json));
  return BpeTokenizer::make(std::move(model));
}

std::string tokenizer_json(const BpeModel& model) {
  std::vector<bool> is_added(model.tokens.size());
  Json added = Json::array();
  for (const AddedToken& token : model.added) {
    is_added[static_cast<std::size_t>(token.token)] = true;
    added.push_back({{"id", token.token},
                     {"content", token.text},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", token.special}});
  }
  Json vocabulary = Json::object();
  for (std::size_t token = 0; token < model.tokens.size(); ++token) {
    if (model.tokens[token].empty() || is_added[token]) continue;
    vocabulary[characters_of(model.tokens[token])] = token;
  }
  Json merges = Json::array();
  for (const auto& [left, right] : model.merges) {
    merges.push_back(characters_of(model.tokens[static_cast<std::size_t>(left)]) + " " +
                     characters_of(model.tokens[static_cast<std::size_t>(right)]));
  }
  Json pre_tokenizers = Json::array();
  for (const PieceRule& rule : model.rules) {
    pre_tokenizers.push_back({{"type", "Split"},
                              {"pattern", {{"Regex", rule.pattern}}},
                              {"behavior", rule.keep_gaps ? "Isolated" : "Removed"},
                              {"invert", !rule.keep_gaps}});
  }
  const Json byte_level = {{"type", "ByteLevel"},
                           {"add_prefix_space", model.space_before},
                           {"trim_offsets", true},
                           {"use_regex", false}};
  pre_tokenizers.push_back(byte_level);
  const Json json = {
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", added},
      {"normalizer", nullptr},
      {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", pre_tokenizers}}},
      {"post_processor", nullptr},
      {"decoder", byte_level},
      {"model",
       {{"type", "BPE"},
        {"dropout", nullptr},
        {"unk_token", nullptr},
        {"continuing_subword_prefix", nullptr},
        {"end_of_word_suffix", nullptr},
        {"fuse_unk", false},
        {"byte_fallback", false},
        {"ignore_merges", model.whole_pieces},
        {"vocab", vocabulary},
        {"merges", merges}}},
  };
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weft
