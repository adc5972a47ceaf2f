// Every entry of the op table, eager against captured: values and gradients are the same bits in
// the recorded run and in replays, with the values of that run and with others, copied in and bound
// anew; in f32, bf16 and f64, for one and two threads, and with inputs in other memory orders.
//
// The operation stands alone; behind elementwise work, and with more of it after it, so that chains
// are fused and take over memory of what ends; and beside a residual that two threads share. Each
// pass of the compiler must have had something to do, or this file would hold nothing: see
// EveryPassHasWorkToDo.
#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/base/parallel.h"
#include "weft/graph/graph.h"
#include "weft/op/contract/test_memory_orders.h"
#include "weft/op/core/op_def.h"
#include "weft/op/ops.h"

namespace weft::op_capture_test {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Arrays = std::vector<Array>;

// What no graph can hold, with the reason: it says so by name.
const std::map<std::string, std::string>& not_captured() {
  static const std::map<std::string, std::string> reasons = {
      {"index", "the true places of a mask decide the shape of the result"},
  };
  return reasons;
}

enum class Place { kAlone, kBetweenOthers, kBesideAResidual };
constexpr Place kPlaces[] = {Place::kAlone, Place::kBetweenOthers, Place::kBesideAResidual};

// A chain over this many values is split between two threads.
constexpr std::int64_t kWide = 20'011;

Bytes values_of(const Array& array) {
  if (!array.defined()) return {};
  const Array dense = array.strided().contiguous();
  Bytes bytes(dense.size_bytes());
  if (!bytes.empty()) std::memcpy(bytes.data(), dense.raw_data(), bytes.size());
  return bytes;
}

// What one run is judged by: the output and the gradients of all inputs.
std::vector<Bytes> all_bytes(const Arrays& results) {
  std::vector<Bytes> all;
  for (const Array& result : results) all.push_back(values_of(result));
  return all;
}

std::vector<Tensor> leaves_of(const Arrays& inputs) {
  std::vector<Tensor> leaves;
  for (const Array& x : inputs) leaves.emplace_back(x, x.defined() && is_floating(x.dtype()));
  return leaves;
}

// One case: the operation with what stands around it.
struct Case {
  const OpSample& sample;
  Place place;
  Array weights;  // of the output's elements: no two shares of the gradient cancel
  Array wide;     // of the residual

  Tensor before(const Tensor& leaf) const {
    if (place != Place::kBetweenOthers || !leaf.requires_grad()) return leaf;
    return (leaf * 0.5) * 2.0;
  }

  // The residual is as large as a chain must be for two threads, and depends on each leaf.
  Tensor residual(const std::vector<Tensor>& leaves) const {
    Tensor total;
    for (const Tensor& leaf : leaves) {
      if (!leaf.requires_grad()) continue;
      const Tensor part = cast(sum(leaf * leaf * leaf), DType::kF32);
      total = total.defined() ? total + part : part;
    }
    if (!total.defined()) return total;
    const Tensor x(wide);
    return mean((x * total + x) * x);
  }

  Arrays run(const Arrays& inputs) const {
    const std::vector<Tensor> leaves = leaves_of(inputs);
    std::vector<Tensor> arguments;
    arguments.reserve(leaves.size());
    for (const Tensor& leaf : leaves) {
      arguments.push_back(leaf.defined() ? before(leaf) : leaf);
    }
    {
      // Nobody looks at this.
      const NoGrad guard;
      cast(sample.apply(arguments), DType::kF32) * 3.0;
    }
    Tensor y = sample.apply(arguments);
    Arrays results;
    if (place == Place::kBetweenOthers) {
      y = (y * 2.0 + y) * 0.5;
      const Tensor flat = reshape(y, {y.size()});
      results.push_back(concat({flat, flat}, 0).array());
    } else {
      // A view of an input is a result of its own, which follows when the input is bound anew.
      const bool is_view = std::any_of(inputs.begin(), inputs.end(), [&](const Array& x) {
        return x.defined() && x.storage() == y.array().storage();
      });
      results.push_back(is_view ? y.array().strided().clone() : y.array());
    }
    if (!y.requires_grad()) return results;
    Tensor loss = sum(y * Tensor(weights));
    const Tensor more = place == Place::kBesideAResidual ? residual(leaves) : Tensor();
    if (more.defined()) loss = loss + cast(more, loss.dtype());
    backward(loss);
    results.push_back(loss.array());
    for (const Tensor& leaf : leaves) {
      if (leaf.requires_grad()) results.push_back(leaf.grad());
    }
    return results;
  }
};

Array ramp(const Shape& shape, DType dtype) {
  Array values = Array::empty(shape, DType::kF64);
  for (std::int64_t i = 0; i < values.size(); ++i) {
    values.data<double>()[i] = 0.5 + 0.1 * static_cast<double>(i % 11);
  }
  return values.to(dtype);
}

Case make_case(const OpSample& sample, const Arrays& inputs, Place place) {
  const NoGrad guard;
  const Tensor y = sample.apply(leaves_of(inputs));
  const DType dtype = is_floating(y.dtype()) ? y.dtype() : DType::kF32;
  return {sample, place, ramp(y.shape(), dtype), ramp({kWide}, DType::kF32)};
}

// Whether the operation takes these values: labels in another order may be none.
bool accepts(const OpSample& sample, const Arrays& inputs) {
  const NoGrad guard;
  try {
    const std::vector<Tensor> plain(inputs.begin(), inputs.end());
    sample.apply(plain);
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

Arrays clones(const Arrays& inputs) {
  Arrays result;
  for (const Array& x : inputs) result.push_back(x.defined() ? x.clone() : x);
  return result;
}

// The elements in another order, floating ones `scale` times as large; whole numbers stay as they
// are where the operation would refuse them so, and signs where it would refuse these.
Arrays changed(const OpSample& sample, const Arrays& inputs, double scale) {
  Arrays floats;
  Arrays all;
  for (const Array& x : inputs) {
    if (!x.defined()) {
      floats.push_back(x);
      all.push_back(x);
      continue;
    }
    const bool scaled = is_floating(x.dtype());
    const Array flat = x.strided().contiguous().reshape({x.size()});
    Array y = flat.slice(0, {}, {}, -1).clone();
    if (scaled) {
      Array exact = y.to(DType::kF64).clone();
      for (double& value : exact.flat<double>()) value *= scale;
      y = exact.to(x.dtype()).clone();
    }
    all.push_back(y.reshape(x.shape()));
    floats.push_back(scaled ? all.back() : x.clone());
  }
  if (accepts(sample, all)) return all;
  return scale > 0 || accepts(sample, floats) ? floats : changed(sample, inputs, -scale);
}

// What the passes did, summed over cases.
struct Passes {
  std::int64_t dropped = 0;
  std::int64_t fused = 0;
  std::int64_t in_place = 0;
  std::int64_t shared_bytes = 0;

  void add(const GraphReport& report) {
    dropped += report.dropped;
    fused += report.fused;
    in_place += report.in_place;
    shared_bytes += static_cast<std::int64_t>(report.unshared_bytes - report.planned_bytes);
  }
};

// Empty, or what differs. `inputs` are what the graph is recorded with; it sees their values, then
// others in the same memory, then others in other memory.
std::string check(const Case& each, const Arrays& inputs, Passes& passes) {
  const Arrays first = clones(inputs);
  Arrays captured;
  Graph graph = capture([&] { captured = each.run(inputs); });
  passes.add(graph.report());
  const std::vector<Bytes> want = all_bytes(each.run(first));
  if (all_bytes(captured) != want) return "the recorded run differs from eager";
  graph.replay();
  if (all_bytes(captured) != want) return "the first replay differs from eager";
  const Arrays second = changed(each.sample, first, 0.75);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].defined()) Array(inputs[i]).copy_from(second[i]);
  }
  graph.replay();
  if (all_bytes(captured) != all_bytes(each.run(second))) {
    return "a replay with other values differs from eager";
  }
  const Arrays third = changed(each.sample, second, -1.25);
  Arrays bound = clones(third);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) continue;
    if (inputs[i].is_contiguous()) {
      graph.rebind(inputs[i], bound[i]);
    } else {
      Array(inputs[i]).copy_from(bound[i]);
    }
  }
  graph.replay();
  if (all_bytes(captured) != all_bytes(each.run(third))) {
    return "a replay with other arrays differs from eager";
  }
  return {};
}

Arrays map_floats(const Arrays& inputs, const std::function<Array(const Array&)>& f) {
  Arrays result;
  for (const Array& x : inputs) {
    result.push_back(x.defined() && is_floating(x.dtype()) ? f(x) : x);
  }
  return result;
}

class OpCapture : public testing::TestWithParam<const OpDef*> {
 protected:
  void TearDown() override { set_thread_count(usual_threads_); }

  // The first `count` samples of the operation, with their floating inputs made by `f`.
  void check_samples(const std::function<Array(const Array&)>& f, Place place, Passes& passes,
                     std::size_t count = std::numeric_limits<std::size_t>::max()) {
    for (const OpSample& sample : GetParam()->samples()) {
      if (count-- == 0) return;
      SCOPED_TRACE(sample.name + ", place " + std::to_string(static_cast<int>(place)));
      const Arrays inputs = map_floats(sample.inputs, f);
      const Case each = make_case(sample, inputs, place);
      try {
        Arrays own = clones(inputs);
        for (std::size_t i = 0; i < own.size(); ++i) {
          if (inputs[i].defined() && !inputs[i].is_contiguous()) own[i] = inputs[i];
        }
        EXPECT_EQ(check(each, own, passes), "");
      } catch (const std::invalid_argument& error) {
        refused_ = true;
        EXPECT_NE(std::string(error.what()).find("[capture] \""), std::string::npos)
            << error.what();
      }
    }
  }

  void check_type(DType dtype) {
    Passes passes;
    const auto in_type = [dtype](const Array& x) { return x.to(dtype); };
    set_thread_count(1);
    for (const Place place : kPlaces) check_samples(in_type, place, passes);
    set_thread_count(2);
    check_samples(in_type, Place::kAlone, passes);
    // What is split there is the same for all samples.
    check_samples(in_type, Place::kBesideAResidual, passes, 2);
    EXPECT_EQ(refused_, not_captured().contains(GetParam()->name));
  }

  bool refused_ = false;

 private:
  int usual_threads_ = thread_count();
};

TEST_P(OpCapture, ReplaysGiveEagersBitsInF32) { check_type(DType::kF32); }

TEST_P(OpCapture, ReplaysGiveEagersBitsInBf16) { check_type(DType::kBF16); }

TEST_P(OpCapture, ReplaysGiveEagersBitsInF64AndInOtherMemoryOrders) {
  Passes passes;
  check_samples([](const Array& x) { return x.clone(); }, Place::kBetweenOthers, passes);
  for (Array (*const relayout)(const Array&) : {transposed, every_second, reversed}) {
    check_samples([relayout](const Array& x) { return relayout(x.to(DType::kF32)); },
                  Place::kBesideAResidual, passes);
  }
}

// For every operation, in each type: where elementwise work stands around it, nodes are dropped and
// fused, results take over memory, and the plan is smaller than the sum of its arrays.
TEST_P(OpCapture, EveryPassHasWorkToDo) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    Passes passes;
    check_samples([dtype](const Array& x) { return x.to(dtype); }, Place::kBetweenOthers, passes);
    EXPECT_GT(passes.dropped, 0);
    EXPECT_GT(passes.fused, 0);
    EXPECT_GT(passes.in_place, 0);
    EXPECT_GT(passes.shared_bytes, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, OpCapture, testing::ValuesIn(op_table().begin(), op_table().end()),
                         [](const auto& entry) { return std::string(entry.param->name); });

TEST(OpCaptureList, NamesOperationsOfTheTable) {
  for (const auto& each : not_captured()) {
    EXPECT_TRUE(std::any_of(op_table().begin(), op_table().end(), [&](const OpDef* op) {
      return each.first == op->name;
    })) << each.first;
  }
}

}  // namespace
}  // namespace weft::op_capture_test
