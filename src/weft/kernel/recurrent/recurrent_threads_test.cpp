#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/array/array.h"
#include "weft/base/parallel.h"
#include "weft/kernel/core/test_random_array.h"
#include "weft/kernel/recurrent/recurrent.h"

namespace weft::recurrent_threads_test {
namespace {

constexpr std::int64_t kSteps = 7;

RecurrentInputs random_inputs(RecurrentCell cell, std::int64_t batch, std::int64_t width) {
  const std::int64_t gates = gate_count(cell) * width;
  RecurrentInputs inputs;
  inputs.x = random_array({kSteps, batch, 24}, 1);
  inputs.input_weight = random_array({gates, 24}, 2);
  inputs.hidden_weight = random_array({gates, width}, 3);
  for (float& value : inputs.hidden_weight.flat<float>()) value *= 0.05F;
  inputs.input_bias = random_array({gates}, 4);
  inputs.hidden_bias = random_array({gates}, 5);
  inputs.first_hidden = random_array({batch, width}, 6);
  if (cell == RecurrentCell::kLstm) inputs.first_cell = random_array({batch, width}, 7);
  return inputs;
}

// Sequences that end after 0, 3, 6, 1, ... steps.
Array ends(std::int64_t batch) {
  Array lengths = Array::empty({batch}, DType::kI64);
  for (std::int64_t n = 0; n < batch; ++n) lengths.data<std::int64_t>()[n] = 3 * n % (kSteps + 1);
  return lengths;
}

struct Values {
  std::vector<float> gates;
  std::vector<float> hidden;
  std::vector<float> extra;
  bool operator==(const Values&) const = default;
};

Values computed(const RecurrentInputs& inputs, const RecurrentRun& run, int threads) {
  // Leaves other values in the memory that the next run gets: what a thread reads too early
  // differs.
  RecurrentInputs others = inputs;
  others.x = random_array(inputs.x.shape(), 8);
  (void)recurrent_forward(others, run);
  set_thread_count(threads);
  const RecurrentTrace trace = recurrent_forward(inputs, run);
  set_thread_count(1);
  Values values{trace.gates.to_vector<float>(), trace.hidden.to_vector<float>(), {}};
  if (trace.cell.defined()) values.extra = trace.cell.to_vector<float>();
  if (trace.candidate_sums.defined()) values.extra = trace.candidate_sums.to_vector<float>();
  return values;
}

// Threads own rows of the batch where it is large, else units where the weights are.
TEST(RecurrentThreads, GiveTheSameBitsForAnyNumber) {
  for (const RecurrentCell cell :
       {RecurrentCell::kTanh, RecurrentCell::kRelu, RecurrentCell::kLstm, RecurrentCell::kGru}) {
    for (const std::int64_t batch : {1, 5, 11, 12}) {
      for (const std::int64_t width : {40, 192, 256}) {
        RecurrentInputs inputs = random_inputs(cell, batch, width);
        for (const bool with_lengths : {false, true}) {
          inputs.lengths = with_lengths ? ends(batch) : Array();
          const RecurrentRun run{.cell = cell, .reverse = with_lengths};
          const Values one = computed(inputs, run, 1);
          for (const int threads : {2, 3, 4}) {
            EXPECT_TRUE(computed(inputs, run, threads) == one)
                << "cell " << static_cast<int>(cell) << ", batch " << batch << ", width " << width
                << ", " << threads << " threads";
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::recurrent_threads_test
