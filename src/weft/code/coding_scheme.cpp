#include "weft/code/coding_scheme.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "weft/base/nearest_name.h"
#include "weft/base/text/option_text.h"
#include "weft/code/code_def.h"

namespace weft {

#define WEFT_PLUGIN(name) extern const CodeDef name##_code;
#include "code_table.inc"
#undef WEFT_PLUGIN

namespace {

constexpr const CodeDef* kCodes[] = {
#define WEFT_PLUGIN(name) &name##_code,
#include "code_table.inc"
#undef WEFT_PLUGIN
};

constexpr std::size_t kCodeTextMax = 200;

Status unknown_code(std::string_view name) {
  std::vector<std::string_view> names;
  for (const CodeDef* def : kCodes) names.push_back(def->name);
  return invalid_argument(fmt::format("expected one of {}, got \"{}\"{}", fmt::join(names, ", "),
                                      name, did_you_mean(name, names)));
}

}  // namespace

std::span<const CodeDef* const> codes() { return kCodes; }

Result<CodingScheme> CodingScheme::parse(std::string_view text) {
  if (text.size() > kCodeTextMax) {
    return invalid_argument(
        fmt::format("expected at most {} characters, got {}", kCodeTextMax, text.size()));
  }
  const std::vector<std::string_view> parts = split_words(text, ':');
  const std::string_view name = parts.empty() ? text : parts.front();
  const auto* const def = std::ranges::find(kCodes, name, &CodeDef::name);
  if (def == std::end(kCodes)) return unknown_code(name);
  WEFT_TRY_ASSIGN(std::vector<double> options,
                  parse_options(name, (*def)->options, std::span(parts).subspan(1)));
  if ((*def)->check != nullptr) {
    WEFT_TRY((*def)->check(options));
  }
  return CodingScheme(**def, std::move(options));
}

std::string CodingScheme::text() const {
  return std::string(def_->name) + format_options(def_->options, options_);
}

bool CodingScheme::has_rounds() const { return def_->rounds != nullptr; }

Result<std::unique_ptr<CodedRounds>> CodingScheme::coded_rounds(std::size_t workers,
                                                                std::int64_t jobs) const {
  if (!has_rounds()) {
    return invalid_argument(
        fmt::format("{}: expected a gradient code, got one of blocks", def_->name));
  }
  if (jobs < 0) return invalid_argument(fmt::format("jobs: expected at least 0, got {}", jobs));
  WEFT_TRY(check_chunk_code({workers, 0}));
  auto made = def_->rounds({workers, jobs, options_});
  return made.ok() ? std::move(made) : made.status().with_context(def_->name);
}

Result<std::unique_ptr<CodedBlocks>> CodingScheme::coded_blocks(std::size_t workers) const {
  if (def_->blocks == nullptr) {
    return invalid_argument(
        fmt::format("{}: expected a code of blocks, got a gradient code", def_->name));
  }
  WEFT_TRY(check_chunk_code({workers, 0}));
  auto made = def_->blocks({workers, 0, options_});
  return made.ok() ? std::move(made) : made.status().with_context(def_->name);
}

}  // namespace weft
