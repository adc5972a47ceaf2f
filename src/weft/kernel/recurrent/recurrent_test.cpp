#include "weft/kernel/recurrent/recurrent.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/array/array.h"
#include "weft/base/parallel.h"
#include "weft/kernel/core/test_random_array.h"

namespace weft::recurrent_test {
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

// Sequences [0, count) of the same inputs.
RecurrentInputs first_sequences(const RecurrentInputs& inputs, std::int64_t count) {
  RecurrentInputs some = inputs;
  some.x = inputs.x.slice(1, 0, count).contiguous();
  some.first_hidden = inputs.first_hidden.slice(0, 0, count).contiguous();
  if (inputs.first_cell.defined()) {
    some.first_cell = inputs.first_cell.slice(0, 0, count).contiguous();
  }
  if (inputs.lengths.defined()) some.lengths = inputs.lengths.slice(0, 0, count).contiguous();
  return some;
}

// Calls check(inputs, run) for all cells, in both directions, with a batch whose inputs are
// multiplied a few steps at a time.
template <class Check>
void for_large_batches(const Check& check) {
  for (const RecurrentCell cell :
       {RecurrentCell::kTanh, RecurrentCell::kRelu, RecurrentCell::kLstm, RecurrentCell::kGru}) {
    for (const std::int64_t batch : {100, 490}) {
      RecurrentInputs inputs = random_inputs(cell, batch, 40);
      for (const bool with_lengths : {false, true}) {
        inputs.lengths = with_lengths ? ends(batch) : Array();
        for (const bool reverse : {false, true}) {
          SCOPED_TRACE("cell " + std::to_string(static_cast<int>(cell)) + ", batch " +
                       std::to_string(batch) + (reverse ? ", reverse" : "") +
                       (with_lengths ? ", lengths" : ""));
          check(inputs, RecurrentRun{.cell = cell, .reverse = reverse});
        }
      }
    }
  }
}

constexpr std::int64_t kFew = 5;

TEST(RecurrentSteps, AFewAtATimeGiveTheBitsOfAllAtOnce) {
  for_large_batches([](const RecurrentInputs& inputs, const RecurrentRun& run) {
    const RecurrentTrace many = recurrent_forward(inputs, run);
    const RecurrentTrace few = recurrent_forward(first_sequences(inputs, kFew), run);
    const auto same = [](const Array& all, const Array& some) {
      return !some.defined() ||
             all.slice(1, 0, kFew).contiguous().to_vector<float>() == some.to_vector<float>();
    };
    EXPECT_TRUE(same(many.gates, few.gates));
    EXPECT_TRUE(same(many.hidden, few.hidden));
    EXPECT_TRUE(same(many.cell, few.cell));
    EXPECT_TRUE(same(many.candidate_sums, few.candidate_sums));
  });
}

// Without inputs a step's sums are the biases and the state's product.
TEST(RecurrentSteps, InputsMayHaveNoColumns) {
  RecurrentInputs none = random_inputs(RecurrentCell::kLstm, 100, 40);
  RecurrentInputs zeros = none;
  none.x = Array::empty({kSteps, 100, 0});
  none.input_weight = Array::empty({160, 0});
  for (float& value : zeros.x.flat<float>()) value = 0.0F;
  const RecurrentRun run{.cell = RecurrentCell::kLstm};
  EXPECT_TRUE(recurrent_forward(none, run).hidden.to_vector<float>() ==
              recurrent_forward(zeros, run).hidden.to_vector<float>());
}

TEST(RecurrentSteps, StatesAreTheSameWithoutATrace) {
  for_large_batches([](const RecurrentInputs& inputs, RecurrentRun run) {
    const RecurrentTrace traced = recurrent_forward(inputs, run);
    run.for_gradient = false;
    const RecurrentTrace states = recurrent_forward(inputs, run);
    EXPECT_FALSE(states.gates.defined());
    EXPECT_FALSE(states.candidate_sums.defined());
    EXPECT_TRUE(states.hidden.to_vector<float>() == traced.hidden.to_vector<float>());
    if (traced.cell.defined()) {
      EXPECT_TRUE(states.cell.to_vector<float>() == traced.cell.to_vector<float>());
    }
  });
}

}  // namespace
}  // namespace weft::recurrent_test
