#include "core/words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace weft::python {
namespace {

using Replacement = std::pair<std::string_view, std::string_view>;

constexpr std::array kPhrases = {
    Replacement("or keep the graph with keep_graph",
                "or give the first backward() retain_graph=True"),
    Replacement("expected a tensor that is no leaf with a gradient, or NoGrad, got such a leaf",
                "a leaf that requires grad cannot be written in place: do it within "
                "weft.no_grad()"),
    Replacement("expected a tensor that is no leaf with a gradient, or NoGrad, got a view of such "
                "a leaf",
                "a view of a leaf that requires grad cannot be written in place: do it within "
                "weft.no_grad()"),
    Replacement("made under NoGrad or detached", "made within weft.no_grad() or detached"),
};
// These replace whole words.
constexpr std::array kWords = {
    Replacement("f32", "weft.float32"),
    Replacement("f64", "weft.float64"),
    Replacement("f16", "weft.float16"),
    Replacement("bf16", "weft.bfloat16"),
    Replacement("i64", "weft.int64"),
    Replacement("i32", "weft.int32"),
    Replacement("i8", "weft.int8"),
    Replacement("u8", "weft.uint8"),
    Replacement("NoGrad", "weft.no_grad()"),
    Replacement("keep_graph", "retain_graph=True"),
    Replacement("create_graph", "create_graph=True"),
    Replacement("allow_unused", "allow_unused=True"),
    Replacement("bce_with_logits", "binary_cross_entropy_with_logits"),
};
// These replace names of operations in the brackets that a message begins with.
constexpr std::array kNames = {
    Replacement("concat", "cat"),
    Replacement("categorical", "multinomial"),
    Replacement("bce_loss", "binary_cross_entropy"),
    Replacement("bce_with_logits", "binary_cross_entropy_with_logits"),
    Replacement("set_grad_storage", "grad"),
    Replacement("upsample2d", "interpolate"),
};

bool is_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '/' ||
         c == '=';
}

template <class Table>
std::string_view looked_up(const Table& table, std::string_view word) {
  const auto* const found = std::find_if(
      table.begin(), table.end(), [&](const Replacement& each) { return each.first == word; });
  return found == table.end() ? word : found->second;
}

std::string with_phrases(std::string text) {
  for (const auto& [from, to] : kPhrases) {
    const std::size_t at = text.find(from);
    if (at != std::string::npos) text.replace(at, from.size(), to);
  }
  return text;
}

// "[Sub] ...": the length of what is within the brackets, 0 if there are none.
std::size_t tag_length(const std::string& text) {
  if (text.empty() || text[0] != '[') return 0;
  const std::size_t end = text.find(']');
  return end == std::string::npos ? 0 : end - 1;
}

}  // namespace

std::string in_words_of_python(std::string_view message) {
  const std::string text = with_phrases(std::string(message));
  std::string result;
  std::size_t at = 0;
  if (const std::size_t length = tag_length(text); length > 0) {
    std::string name = text.substr(1, length);
    name[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(name[0])));
    result = "[" + std::string(looked_up(kNames, name));
    at = 1 + length;
  }
  while (at < text.size()) {
    std::size_t end = at;
    while (end < text.size() && is_of_word(text[end])) ++end;
    // The full stop of a sentence is no part of its last word.
    while (end > at + 1 && text[end - 1] == '.') --end;
    if (end == at) {
      result += text[at++];
      continue;
    }
    result += looked_up(kWords, std::string_view(text).substr(at, end - at));
    at = end;
  }
  return result;
}

}  // namespace weft::python
