// CodingScheme: redundancy by which a group computes without waiting for its slowest members.
//
// A text names a code with its options: "fractional_repetition:stragglers=3", "m_sgc:burst=2". Each
// file NAME_code.cpp is one; see docs/HACKING.md to add one, and docs/coded_computing.md for what
// they cost.
//
// There are two kinds. A gradient code gives the exact sum of the gradients of a batch, up to
// rounding, if not too many messages are missing: coded_rounds(). A code of blocks approximates a
// smooth function of each of some blocks of data, the better the more workers answer:
// coded_blocks().
//
// Where it stands: a library; no recipe names a code yet. Threads: immutable once parsed.
// Fails: kInvalidArgument, with what was expected.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/status.h"
#include "weft/code/blocks/coded_blocks.h"
#include "weft/code/rounds/coded_rounds.h"

namespace weft {

struct CodeDef;  // code_def.h

class CodingScheme {
 public:
  // kInvalidArgument for an unknown name (with the nearest one), or an option that the code lacks
  // or that is out of range.
  static Result<CodingScheme> parse(std::string_view text);

  // As it was parsed, without the options that have their defaults.
  std::string text() const;
  // Whether it is a gradient code; else it is one of blocks.
  bool has_rounds() const;
  // `jobs` = 0: without end. Workers are from 1 to 512. kInvalidArgument if the code does not exist
  // for as many, or is one of blocks.
  Result<std::unique_ptr<CodedRounds>> coded_rounds(std::size_t workers, std::int64_t jobs) const;
  // kInvalidArgument if the code does not exist for as many workers, or is a gradient code.
  Result<std::unique_ptr<CodedBlocks>> coded_blocks(std::size_t workers) const;

 private:
  CodingScheme(const CodeDef& def, std::vector<double> options)
      : def_(&def), options_(std::move(options)) {}

  const CodeDef* def_;
  // In the order of the code's options.
  std::vector<double> options_;
};

// All codes, by name.
std::span<const CodeDef* const> codes();

}  // namespace weft
