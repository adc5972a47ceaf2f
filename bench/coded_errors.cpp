// How exact coded computing is: coefficients of gradient codes, errors of Berrut's interpolant.
//
// usage: coded_errors
// The first table has, for each code, the largest coefficient of a decoder and the amplification of
// rounding errors (code/chunk/chunk_sums.h) with as many workers missing as the code tolerates: the
// median and the maximum over 200 random sets, and the maximum over the sets of neighbours. The
// second has the error of f(x) = sigmoid(W x) of 16 numbers, relative, in the root mean square over
// all blocks; the mean over 20 seeds. W has independent normal entries of variance 1/16, x of
// variance 1. One thread.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "weft/base/rng.h"
#include "weft/code/coding_scheme.h"

namespace {

constexpr std::size_t kSize = 16;
using Block = std::vector<double>;

std::vector<bool> without_random(std::size_t workers, std::size_t missing, weft::Rng& rng) {
  std::vector<bool> came(workers, true);
  while (missing > 0) {
    const std::size_t worker = rng.below(workers);
    if (!came[worker]) continue;
    came[worker] = false;
    --missing;
  }
  return came;
}

void print_coefficients(std::size_t workers, std::size_t stragglers) {
  for (const bool roots : {false, true}) {
    const weft::ChunkCodeSize size = {workers, stragglers};
    const auto sums = roots ? weft::roots_sums(size).value() : weft::cyclic_sums(size).value();
    weft::Rng rng(1);
    std::vector<double> largest;
    std::vector<double> amplification;
    for (int i = 0; i < 200; ++i) {
      const auto decoded = sums->decode(without_random(workers, stragglers, rng)).value();
      largest.push_back(decoded.largest_coefficient);
      amplification.push_back(decoded.amplification);
    }
    std::ranges::sort(largest);
    std::ranges::sort(amplification);
    double neighbours = 0;
    for (std::size_t first = 0; first < workers; ++first) {
      std::vector<bool> came(workers, true);
      for (std::size_t k = 0; k < stragglers; ++k) came[(first + k) % workers] = false;
      neighbours = std::max(neighbours, sums->decode(came).value().amplification);
    }
    fmt::print("| {} | {} | {} | {:.2g} | {:.2g} | {:.2g} | {:.2g} | {:.2g} |\n", workers,
               stragglers, roots ? "roots_of_unity" : "cyclic", largest[100], largest.back(),
               amplification[100], amplification.back(), neighbours);
  }
}

Block sigmoid_of(const std::vector<Block>& weights, const Block& x) {
  Block out;
  for (const Block& row : weights) {
    out.push_back(1 / (1 + std::exp(-std::inner_product(row.begin(), row.end(), x.begin(), 0.0))));
  }
  return out;
}

Block weighted(const std::vector<double>& shares, const std::vector<Block>& blocks) {
  Block sum(kSize);
  for (std::size_t j = 0; j < blocks.size(); ++j) {
    for (std::size_t i = 0; i < kSize; ++i) sum[i] += shares[j] * blocks[j][i];
  }
  return sum;
}

double error_of(const weft::CodedBlocks& code, std::size_t missing, std::uint64_t seed) {
  weft::Rng rng(seed);
  const auto drawn = [&rng](std::size_t count, double scale) {
    std::vector<Block> all(count, Block(kSize));
    for (Block& block : all) {
      for (double& value : block) value = rng.normal() * scale;
    }
    return all;
  };
  const std::vector<Block> weights = drawn(kSize, 0.25);
  const std::vector<Block> blocks = drawn(code.blocks(), 1);
  std::vector<Block> answers;
  for (std::size_t worker = 0; worker < code.workers(); ++worker) {
    answers.push_back(sigmoid_of(weights, weighted(code.encode(worker), blocks)));
  }
  const auto decoded = code.decode(without_random(code.workers(), missing, rng)).value();
  double wrong = 0;
  double whole = 0;
  for (std::size_t j = 0; j < blocks.size(); ++j) {
    const Block expected = sigmoid_of(weights, blocks[j]);
    const Block got = weighted(decoded[j], answers);
    for (std::size_t i = 0; i < kSize; ++i) {
      wrong += (got[i] - expected[i]) * (got[i] - expected[i]);
      whole += expected[i] * expected[i];
    }
  }
  return std::sqrt(wrong / whole);
}

void print_errors(std::size_t blocks, std::size_t workers, std::size_t missing) {
  fmt::print("| {} | {} | {} |", blocks, workers, missing);
  for (const char* const name : {"bacc", "sbacc"}) {
    const auto scheme = weft::CodingScheme::parse(fmt::format("{}:blocks={}", name, blocks));
    const auto code = scheme->coded_blocks(workers).value();
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) sum += error_of(*code, missing, seed);
    fmt::print(" {:.2g} |", sum / 20);
  }
  fmt::print("\n");
}

}  // namespace

int main() {
  fmt::print(
      "| workers | missing | code | coefficient, median | maximum | amplification, median | "
      "maximum | of neighbours |\n|---|---|---|---|---|---|---|---|\n");
  for (const auto& [workers, stragglers] :
       {std::pair{16U, 3U}, {20U, 7U}, {64U, 3U}, {64U, 7U}, {64U, 15U}}) {
    print_coefficients(workers, stragglers);
  }
  fmt::print("\n| blocks | workers | missing | bacc | sbacc |\n|---|---|---|---|---|\n");
  for (const std::size_t blocks : {4U, 8U}) {
    for (const std::size_t workers : {16U, 32U, 64U, 128U}) print_errors(blocks, workers, 0);
    print_errors(blocks, 64, 8);
    print_errors(blocks, 64, 32);
  }
  return 0;
}
