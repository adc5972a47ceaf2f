#include "weft/autograd/op_trace.h"

#include <gtest/gtest.h>

#include "weft/autograd/node.h"

namespace weft::op_trace_test {
namespace {

Tensor twice(const Tensor& x) {
  if (op_tracing()) trace_attributes("twice", {{"factor", {2.0}}});
  return record("twice", x.array().clone(), {&x},
                [](const Array& dy, const InputGradients& dx) { dx.add(0, dy); });
}

TEST(OpTrace, NotesOperationsWithTheirOptions) {
  const Tensor x(Array::full({2}, 1.0));
  EXPECT_FALSE(op_tracing());
  twice(x);
  const OpTrace trace;
  ASSERT_TRUE(op_tracing());
  const Tensor y = twice(x);
  record("other", x.array(), {&x, &y},
         [](const Array& dy, const InputGradients& dx) { dx.add(0, dy); });
  ASSERT_EQ(trace.ops().size(), 2U);
  const TracedOp& first = trace.ops()[0];
  EXPECT_EQ(first.name, "twice");
  EXPECT_EQ(first.inputs[0].storage(), x.array().storage());
  EXPECT_EQ(first.output.storage(), y.array().storage());
  ASSERT_NE(first.find("factor"), nullptr);
  EXPECT_EQ(first.find("factor")->values, std::vector<double>{2.0});
  EXPECT_EQ(first.find("none"), nullptr);
  EXPECT_TRUE(trace.ops()[1].attributes.empty());
}

TEST(OpTrace, ConstantsAreKeptAsTheyWereAndCopiesNameTheirSource) {
  const Tensor before = trace_constant(Tensor(Array::full({2}, 1.0)));  // nothing is noted
  const OpTrace trace;
  const Tensor x = trace_constant(Tensor(Array::full({2}, 3.0)));
  Array memory = x.array();
  memory.fill(5.0);
  const Tensor copy(x.array().clone());
  trace_same(copy, x);
  ASSERT_EQ(trace.ops().size(), 2U);
  EXPECT_EQ(trace.ops()[0].name, "constant");
  EXPECT_EQ(trace.ops()[0].output.storage(), x.array().storage());
  EXPECT_EQ(trace.ops()[0].find("value")->array.to_vector<float>(), (std::vector<float>{3, 3}));
  EXPECT_EQ(trace.ops()[1].name, "same");
  EXPECT_EQ(trace.ops()[1].inputs[0].storage(), x.array().storage());
  EXPECT_EQ(trace.ops()[1].output.storage(), copy.array().storage());
}

TEST(OpTrace, OptionsOfAnOperationThatDidNotComeAreDropped) {
  const Tensor x(Array::full({2}, 1.0));
  const OpTrace trace;
  trace_attributes("twice", {{"factor", {3.0}}});
  record("other", x.array(), {&x},
         [](const Array& dy, const InputGradients& dx) { dx.add(0, dy); });
  record("twice", x.array(), {&x},
         [](const Array& dy, const InputGradients& dx) { dx.add(0, dy); });
  EXPECT_TRUE(trace.ops()[0].attributes.empty());
  EXPECT_TRUE(trace.ops()[1].attributes.empty());
}

TEST(OpTrace, TheInnermostAloneNotes) {
  const Tensor x(Array::full({2}, 1.0));
  const OpTrace outer;
  {
    const OpTrace inner;
    twice(x);
    EXPECT_EQ(inner.ops().size(), 1U);
  }
  EXPECT_TRUE(outer.ops().empty());
  twice(x);
  EXPECT_EQ(outer.ops().size(), 1U);
}

}  // namespace
}  // namespace weft::op_trace_test
