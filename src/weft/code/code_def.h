// A file NAME_code.cpp defines one of these: a code of CodingScheme.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "weft/base/option.h"
#include "weft/base/status.h"
#include "weft/code/blocks/coded_blocks.h"
#include "weft/code/rounds/coded_rounds.h"

namespace weft {

// What a code is made for.
struct CodeInput {
  std::size_t workers = 1;
  // 0: without end. Codes of blocks do not ask.
  std::int64_t jobs = 0;
  // In the order of CodeDef::options.
  std::span<const double> options;

  std::size_t option(std::size_t index) const { return static_cast<std::size_t>(options[index]); }
};

// One of `rounds` and `blocks` is null.
struct CodeDef {
  std::string_view name;
  // One sentence for help pages, with the source.
  std::string_view summary;
  // The share of a batch, or of all blocks, that one worker computes, as a formula of the workers n
  // and the options.
  std::string_view load_text;
  std::span<const Option> options = {};
  // What is wrong with options that are each in range; null: nothing can be.
  Status (*check)(std::span<const double> options) = nullptr;
  // kInvalidArgument if the code does not exist for that many workers.
  Result<std::unique_ptr<CodedRounds>> (*rounds)(const CodeInput& input) = nullptr;
  Result<std::unique_ptr<CodedBlocks>> (*blocks)(const CodeInput& input) = nullptr;
};

}  // namespace weft
