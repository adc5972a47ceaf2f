// Code shared by while_loop() and if_else(). For this folder.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "weft/autograd/tensor.h"

namespace weft::internal {

[[noreturn]] void throw_control(const char* name, const std::string& expected,
                                const std::string& got);

std::vector<Array> arrays_of(std::span<const Tensor> tensors);
// Without history.
std::vector<Tensor> plain_tensors(std::span<const Array> arrays);

// Throws unless `results` have the shapes and types of `model`.
void check_results(const char* name, std::span<const Tensor> results, std::span<const Array> model);
// Throws if a result of plain tensors has a history all the same.
void refuse_foreign_gradients(const char* name, std::span<const Tensor> results);

// Copies each result to its target, undefined ones as zeros; a result may be in any target's
// memory. Undefined targets are skipped.
void write_results(const std::vector<Array>& results, const std::vector<Array>& targets);

// `value`, exactly one, to `flag`, a kBool scalar; and what that holds.
void write_flag(const char* name, const Tensor& value, Array flag);
bool read_flag(const Array& flag);

// A gradient as a separate array: zeros if `gradient` is undefined; undefined for integers.
Array seed_of(const Array& gradient, const Array& value);

// The gradients of `leaves` from those of results computed from them; undefined where a leaf takes
// none or no result depends on it.
struct GradientPiece {
  std::vector<Tensor> leaves;
  std::vector<Array> run(std::span<const Tensor> results, std::span<const Array> gradients) const;
};

}  // namespace weft::internal
