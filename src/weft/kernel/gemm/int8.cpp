#include "weft/kernel/gemm/int8.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "weft/base/parallel.h"
#include "weft/kernel/core/prepared_weights.h"

namespace weft {
namespace {

// Rows whose quantised values stay in the second-level cache while blocks of weights pass by.
constexpr std::int64_t kInt8RowsAtOnce = 96;
// Below these, a few microseconds, a thread is not worth waking.
constexpr std::int64_t kInt8GrainProducts = 512 * 1024;
constexpr std::int64_t kInt8GrainValues = 64 * 1024;

std::int64_t int8_round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

// The quantised rows of a product; those of a small one lie on the stack.
class QuantisedRows {
 public:
  QuantisedRows(std::int64_t rows, const Int8Matrix& weight) : weight_(weight), rows_(rows) {
    const std::size_t bytes =
        static_cast<std::size_t>(rows) * (static_cast<std::size_t>(weight.depth()) + sizeof(float));
    if (bytes <= sizeof(here_)) {
      memory_ = here_;
      return;
    }
    storage_ = Storage::allocate(bytes);
    memory_ = static_cast<std::uint8_t*>(storage_->data());
  }
  QuantisedRows(const QuantisedRows&) = delete;
  QuantisedRows& operator=(const QuantisedRows&) = delete;

  void fill(const float* a, std::int64_t row_step, std::int64_t begin, std::int64_t end) {
    const Int8Loops& loops = weight_.loops();
    const std::int64_t depth = weight_.depth();
    for (std::int64_t i = begin; i < end; ++i) {
      std::uint8_t* const to = values() + i * depth;
      scales()[i] = loops.quantise(a + i * row_step, weight_.k(), loops.offset, to);
      std::fill(to + weight_.k(), to + depth, std::uint8_t{0});  // the weights are zeros there
    }
  }

  Int8Rows rows(std::int64_t begin, std::int64_t end) const {
    const std::int64_t depth = weight_.depth();
    return {values() + begin * depth, depth, scales() + begin, end - begin};
  }

 private:
  float* scales() const { return static_cast<float*>(static_cast<void*>(memory_)); }
  std::uint8_t* values() const { return memory_ + rows_ * std::int64_t{sizeof(float)}; }

  const Int8Matrix& weight_;
  std::int64_t rows_;
  std::uint8_t* memory_ = nullptr;
  std::shared_ptr<Storage> storage_;
  alignas(64) std::uint8_t here_[4096];
};

// Rows and columns [begin, end) of the product.
struct Int8Part {
  std::int64_t row_begin;
  std::int64_t row_end;
  std::int64_t column_begin;  // a multiple of kInt8BlockColumns
  std::int64_t column_end;
};

void multiply_int8_part(const QuantisedRows& rows, const Int8Matrix& weight, const Int8Part& part,
                        const GemmOutput& c) {
  for (std::int64_t i = part.row_begin; i < part.row_end; i += kInt8RowsAtOnce) {
    const Int8Rows some = rows.rows(i, std::min(i + kInt8RowsAtOnce, part.row_end));
    for (std::int64_t j = part.column_begin; j < part.column_end; j += kInt8BlockColumns) {
      GemmOutput out = c;
      out.data += i * c.row_step + j;
      if (out.bias != nullptr) out.bias += j;
      weight.loops().multiply(some, weight.block(j), out);
    }
  }
}

}  // namespace

Int8Matrix::Int8Matrix(const float* weight, std::int64_t n, std::int64_t k, const Int8Loops& loops)
    : n_(n), k_(k), depth_(std::max(kInt8Depth, int8_round_up(k, kInt8Depth))), loops_(loops) {
  const std::int64_t columns = int8_round_up(n, kInt8Panel);
  storage_ = Storage::allocate(static_cast<std::size_t>(columns) *
                               (static_cast<std::size_t>(depth_) + 2 * sizeof(float)));
  std::memset(storage_->data(), 0, storage_->size_bytes());
  std::vector<std::uint8_t> quantised(static_cast<std::size_t>(depth_));
  for (std::int64_t j = 0; j < n; ++j) fill_row(weight + j * k, j, quantised.data());
}

void Int8Matrix::fill_row(const float* row, std::int64_t column, std::uint8_t* quantised) {
  scales()[column] = loops_.quantise(row, k_, 0, quantised);
  const std::int64_t first = column / kInt8BlockColumns * kInt8BlockColumns;
  const std::int64_t panels =
      std::min(kInt8Panels, int8_round_up(n_ - first, kInt8Panel) / kInt8Panel);
  std::int8_t* const to = values() + first * depth_ + (column - first) * kInt8Group;
  const std::int64_t step = panels * kInt8Panel * kInt8Group;
  std::int32_t sum = 0;
  for (std::int64_t i = 0; i < k_; ++i) {
    const auto value = static_cast<std::int8_t>(quantised[i]);
    to[i / kInt8Group * step + i % kInt8Group] = value;
    sum += value;
  }
  starts()[column] = -loops_.offset * sum;
}

float* Int8Matrix::scales() const {
  const std::int64_t columns = int8_round_up(n_, kInt8Panel);
  // Blocks of values are multiples of 64 bytes. NOLINTNEXTLINE(bugprone-casting-through-void)
  return static_cast<float*>(static_cast<void*>(values() + columns * depth_));
}

std::int32_t* Int8Matrix::starts() const {
  return static_cast<std::int32_t*>(static_cast<void*>(scales() + int8_round_up(n_, kInt8Panel)));
}

Int8Weights Int8Matrix::block(std::int64_t column) const {
  return {values() + column * depth_, scales() + column, starts() + column, depth_ / kInt8Group,
          std::min(kInt8BlockColumns, n_ - column)};
}

void gemm_int8(std::int64_t m, const float* a, std::int64_t row_step, const Int8Matrix& weight,
               const GemmOutput& c) {
  const std::int64_t n = weight.n();
  if (m == 0 || n == 0) return;
  QuantisedRows rows(m, weight);
  parallel_for(m, 1 + kInt8GrainValues / weight.depth(),
               [&](std::int64_t begin, std::int64_t end) { rows.fill(a, row_step, begin, end); });
  if (m < 2 * kInt8RowsAtOnce || n >= m) {
    const std::int64_t grain = 1 + kInt8GrainProducts / (kInt8BlockColumns * weight.depth() * m);
    parallel_for(int8_round_up(n, kInt8BlockColumns) / kInt8BlockColumns, grain,
                 [&](std::int64_t begin, std::int64_t end) {
                   const Int8Part part{0, m, begin * kInt8BlockColumns,
                                       std::min(end * kInt8BlockColumns, n)};
                   multiply_int8_part(rows, weight, part, c);
                 });
    return;
  }
  const std::int64_t grain = 6 + kInt8GrainProducts / (weight.depth() * n);
  parallel_for(m, grain, [&](std::int64_t begin, std::int64_t end) {
    multiply_int8_part(rows, weight, {begin, end, 0, n}, c);
  });
}

void gemm_int8_here(std::int64_t m, const float* a, std::int64_t row_step, const Int8Matrix& weight,
                    const GemmOutput& c) {
  if (m == 0 || weight.n() == 0) return;
  QuantisedRows rows(m, weight);
  rows.fill(a, row_step, 0, m);
  multiply_int8_part(rows, weight, {0, m, 0, weight.n()}, c);
}

std::shared_ptr<const Int8Matrix> int8_weight(const Array& weight) {
  if (PreparedWeights::precision() != WeightPrecision::kInt8 || weight.dim(1) > kInt8DepthMax) {
    return nullptr;
  }
  return PreparedWeights::get<Int8Matrix>(weight, WeightForm::kInt8Rows, [&] {
    return std::make_shared<Int8Matrix>(weight.data<float>(), weight.dim(0), weight.dim(1));
  });
}

}  // namespace weft
