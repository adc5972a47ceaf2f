#define PCRE2_CODE_UNIT_WIDTH 8
#include "weft/data/text/piece_splitter.h"

#include <array>

#include <fmt/format.h>
#include <pcre2.h>

#include "weft/base/utf8.h"

namespace weft {
namespace {

constexpr std::size_t kPatternBytesMax = std::size_t{16} << 10U;
constexpr std::size_t kRulesMax = 16;
// Bounds of the work at one place of the text; GPT-2's pattern needs less than 100.
constexpr std::uint32_t kMatchLimit = 1000000;
constexpr std::uint32_t kHeapKibibytesMax = 65536;
constexpr std::size_t kJitStackBytes = std::size_t{512} << 10U;

std::string message_of(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

// The characters that Unicode calls white space, for a class of PCRE2.
constexpr std::string_view kSpaces = R"(\x09-\x0d\x{85}\p{Z})";

// `pattern` with \s and \S written out: PCRE2 takes U+180E for a space, as Unicode did before 6.3
// and the regular expressions of tokenizers do not. (\S in a class stays what it is.)
std::string with_spaces_of_unicode(std::string_view pattern) {
  std::string result;
  bool in_class = false;
  std::size_t inside = 0;  // where the class's members begin; a "]" there is one of them
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c != '\\' || i + 1 == pattern.size()) {
      if (c == '[' && !in_class) {
        in_class = true;
        inside = i + (pattern.substr(i + 1).starts_with("^") ? 2 : 1);
      } else if (c == ']' && i > inside) {
        in_class = false;
      }
      result.push_back(c);
      continue;
    }
    const char escaped = pattern[++i];
    if (escaped == 's' || (escaped == 'S' && !in_class)) {
      const char* const opening = in_class ? "" : (escaped == 's' ? "[" : "[^");
      result += fmt::format("{}{}{}", opening, kSpaces, in_class ? "" : "]");
    } else {
      result.push_back(c);
      result.push_back(escaped);
    }
  }
  return result;
}

Result<std::shared_ptr<const void>> compile(const std::string& written) {
  const std::string pattern = with_spaces_of_unicode(written);
  if (pattern.size() > kPatternBytesMax) {
    return corrupt(fmt::format("pattern: expected at most {} bytes, got {}", kPatternBytesMax,
                               pattern.size()));
  }
  int error = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &at, nullptr);
  if (code == nullptr) {
    return corrupt(fmt::format("pattern: {} at offset {}", message_of(error), at));
  }
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // where it cannot, the interpreter matches
  return std::shared_ptr<const void>(code, [](const void* owned) {
    pcre2_code_free(static_cast<pcre2_code*>(const_cast<void*>(owned)));
  });
}

// What PCRE2 needs beside the pattern; one a call of split().
class Matcher {
 public:
  Matcher()
      : context_(pcre2_match_context_create(nullptr)),
        stack_(pcre2_jit_stack_create(kJitStackBytes / 16, kJitStackBytes, nullptr)),
        data_(pcre2_match_data_create(1, nullptr)) {
    WEFT_CHECK(context_ != nullptr && data_ != nullptr);
    pcre2_set_match_limit(context_, kMatchLimit);
    pcre2_set_heap_limit(context_, kHeapKibibytesMax);
    if (stack_ != nullptr) pcre2_jit_stack_assign(context_, nullptr, stack_);
  }
  ~Matcher() {
    pcre2_match_data_free(data_);
    pcre2_jit_stack_free(stack_);
    pcre2_match_context_free(context_);
  }
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
    bool found = false;
  };

  // The first match from `start` on. REQUIRES: `text` is UTF-8.
  Result<Range> find(const pcre2_code* code, std::string_view text, std::size_t start) {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    int found = pcre2_match(code, subject, text.size(), start, PCRE2_NO_UTF_CHECK, data_, context_);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) {
      found = pcre2_match(code, subject, text.size(), start, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                          data_, context_);
    }
    if (found == PCRE2_ERROR_NOMATCH) return Range{};
    if (found < 0)
      return corrupt(fmt::format("pattern: {} at offset {}", message_of(found), start));
    const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(data_);
    if (offsets[0] < start || offsets[1] < offsets[0]) {  // \K can do this
      return corrupt("pattern: expected a match that ends after it begins, got another");
    }
    return Range{offsets[0], offsets[1], true};
  }

 private:
  pcre2_match_context* context_;
  pcre2_jit_stack* stack_;
  pcre2_match_data* data_;
};

void add_piece(std::vector<std::string_view>& pieces, std::string_view piece) {
  if (!piece.empty()) pieces.push_back(piece);
}

// Cuts a valid text by one rule. An empty match cuts nothing.
Status cut(Matcher& matcher, const pcre2_code* code, bool keep_gaps, std::string_view text,
           std::vector<std::string_view>& pieces) {
  std::size_t at = 0;     // first byte that is in no piece yet
  std::size_t start = 0;  // where to look from
  while (start < text.size()) {
    WEFT_TRY_ASSIGN(const Matcher::Range range, matcher.find(code, text, start));
    if (!range.found) break;
    if (range.end == range.begin) {
      if (range.end >= text.size()) break;
      start = range.end + first_character(text.substr(range.end)).length;
      continue;
    }
    if (keep_gaps) add_piece(pieces, text.substr(at, range.begin - at));
    add_piece(pieces, text.substr(range.begin, range.end - range.begin));
    at = start = range.end;
  }
  if (keep_gaps) add_piece(pieces, text.substr(at));
  return {};
}

// Cuts where bytes cease to be UTF-8 and where they begin to be again.
template <class Valid, class Invalid>
Status for_each_run(std::string_view text, Valid valid, Invalid invalid) {
  while (!text.empty()) {
    const std::size_t good = valid_utf8_prefix(text);
    if (good > 0) WEFT_TRY(valid(text.substr(0, good)));
    text.remove_prefix(good);
    std::size_t bad = 0;
    while (bad < text.size() && first_character(text.substr(bad)).length == 0) ++bad;
    if (bad > 0) invalid(text.substr(0, bad));
    text.remove_prefix(bad);
  }
  return {};
}

}  // namespace

Result<PieceSplitter> PieceSplitter::make(std::vector<PieceRule> rules) {
  if (rules.size() > kRulesMax) {
    return corrupt(fmt::format("patterns: expected at most {}, got {}", kRulesMax, rules.size()));
  }
  PieceSplitter splitter;
  for (const PieceRule& rule : rules) {
    WEFT_TRY_ASSIGN(std::shared_ptr<const void> code, compile(rule.pattern));
    splitter.codes_.push_back(std::move(code));
  }
  splitter.rules_ = std::move(rules);
  return splitter;
}

Result<std::vector<std::string_view>> PieceSplitter::split(std::string_view text) const {
  std::vector<std::string_view> pieces;
  add_piece(pieces, text);
  Matcher matcher;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const auto* code = static_cast<const pcre2_code*>(codes_[i].get());
    std::vector<std::string_view> finer;
    for (const std::string_view piece : pieces) {
      WEFT_TRY(for_each_run(
          piece,
          [&](std::string_view run) { return cut(matcher, code, rules_[i].keep_gaps, run, finer); },
          [&](std::string_view run) { finer.push_back(run); }));
    }
    pieces = std::move(finer);
  }
  return pieces;
}

}  // namespace weft
