// A second device: where arrays are, what copies between devices, what refuses to mix them, and
// that the host cannot reach into a device's memory.
#include <sstream>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/array/kernel_table.h"
#include "weft/array/launch.h"
#include "weft/array/map.h"
#include "weft/array/print.h"
#include "weft/array/test_device.h"

namespace weft::device_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

Array three_values() { return Array::from(std::vector<float>{1, 2, 3}, {3}); }

TEST(Device, HasANameThatMessagesUse) {
  EXPECT_EQ(to_string(Device::cpu()), "cpu");
  EXPECT_EQ(to_string(Device{Device::Kind::kCuda, 1}), "cuda:1");
  EXPECT_EQ(to_string(Device{Device::Kind::kTest, 0}), "test:0");
}

TEST(Device, OneThatTheProgramLacksIsRefusedWithThoseThatItHas) {
  EXPECT_THAT(
      [] {
        Array::zeros({2}, DType::kF32, {Device::Kind::kCuda, 0});
      },
      ThrowsMessage<std::invalid_argument>(AllOf(HasSubstr("cpu"), HasSubstr("cuda:0"))));
}

TEST(Device, ToCopiesAndTellsWhereTheCopyIs) {
  const TestDevice test;
  const Array x = three_values();
  const Array there = x.to(test.device());
  EXPECT_EQ(there.device(), test.device());
  EXPECT_FALSE(there.on_host());
  EXPECT_EQ(x.device(), Device::cpu());
  const Array back = there.to(Device::cpu());
  EXPECT_THAT(back.to_vector<float>(), ElementsAre(1, 2, 3));
  EXPECT_NE(back.storage(), x.storage());
  EXPECT_EQ(there.to(test.device()).storage(), there.storage());
  const Array elsewhere = there.to(test.device(1));
  EXPECT_EQ(elsewhere.device(), test.device(1));
  EXPECT_THAT(elsewhere.to_vector<float>(), ElementsAre(1, 2, 3));
}

TEST(Device, ViewsClonesAndConversionsStayWhereTheyAre) {
  const TestDevice test;
  const Array x = Array::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3}).to(test.device());
  for (const Array& y : {x.transpose(0, 1), x.slice(1, 0, 2).contiguous(), x.clone(),
                         x.to(DType::kI64), Array::full({2}, 3.5, DType::kF64, test.device())}) {
    EXPECT_EQ(y.device(), test.device());
  }
  EXPECT_THAT(x.transpose(0, 1).to(Device::cpu()).to_vector<float>(),
              ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(x.to(DType::kI64).to_vector<std::int64_t>(), ElementsAre(1, 2, 3, 4, 5, 6));
  Array target = Array::zeros({3}, DType::kF64, test.device());
  target.copy_from(x.select(0, 1));
  EXPECT_THAT(target.to_vector<double>(), ElementsAre(4, 5, 6));
}

TEST(Device, AHostSpanIsRefusedInWords) {
  const TestDevice test;
  Array x = three_values().to(test.device());
  const auto says_where = ThrowsMessage<std::invalid_argument>(
      AllOf(HasSubstr("test:0"), HasSubstr("to(Device::cpu())")));
  EXPECT_THAT([&] { x.data<float>(); }, says_where);
  EXPECT_THAT([&] { x.flat<float>(); }, says_where);
}

TEST(Device, SingleValuesAndTextAreCopiedByThemselves) {
  const TestDevice test;
  const Array x = three_values().to(test.device());
  EXPECT_EQ(x.at({1}), 2);
  EXPECT_EQ(x.select(0, 2).item(), 3);
  EXPECT_EQ(x.select(0, 2).item_int(), 3);
  EXPECT_THAT(x.flip({0}).to_vector<float>(), ElementsAre(3, 2, 1));
  EXPECT_EQ(to_string(x), "[1, 2, 3]");
}

TEST(Device, OperandsOnTwoDevicesAreRefusedWithBothNamesAndTheRemedy) {
  const TestDevice test;
  const Array here = three_values();
  const Array there = here.to(test.device());
  const auto names_both = ThrowsMessage<std::invalid_argument>(
      AllOf(HasSubstr("cpu"), HasSubstr("test:0"), HasSubstr("to(device)")));
  const auto add = [](auto a, auto b) { return a + b; };
  EXPECT_THAT([&] { map_floating("plus", add, here, there); }, names_both);
  EXPECT_THAT([&] { map_floating("plus", add, there, here); }, names_both);
  Array target = Array::zeros({3});
  EXPECT_THAT([&] { target.copy_from(there); }, names_both);
  const Array second = here.to(test.device(1));
  EXPECT_THAT(
      [&] { map_floating("plus", add, there, second); },
      ThrowsMessage<std::invalid_argument>(AllOf(HasSubstr("test:0"), HasSubstr("test:1"))));
}

TEST(Device, ElementwiseLaunchesComputeWhereTheirOperandsAre) {
  const TestDevice test;
  const Array x = three_values().to(test.device());
  const Array y = map_floating(
      "double", [](auto a) { return a + a; }, x);
  EXPECT_EQ(y.device(), test.device());
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(2, 4, 6));
}

TEST(DeviceDeathTest, ReadingItsMemoryFromTheHostFaults) {
  const TestDevice test;
  const Array x = three_values().to(test.device());
  const auto* const bytes = static_cast<const volatile float*>(x.raw_data());
  EXPECT_DEATH(static_cast<void>(bytes[0] + 1), "");
}

TEST(DeviceDeathTest, AKernelThatReadsWhatIsNoOperandFaults) {
  const TestDevice test;
  const Array x = three_values().to(test.device());
  const Array other = three_values().to(test.device());
  Array y = Array::empty({1}, DType::kF32, test.device());
  const auto* const forgotten = static_cast<const float*>(other.raw_data());
  EXPECT_DEATH(
      launch("reader", {&x}, {&y},
             [forgotten](LaunchArrays, LaunchArrays out) { out[0].data<float>()[0] = *forgotten; }),
      "");
}

// A body with a name, whose values a row can read.
struct AddBody {
  float value;
  void operator()(LaunchArrays in, LaunchArrays out) const {
    out[0].data<float>()[0] = in[0].data<float>()[0] + value;
  }
};

// What a row of its own does: it needs no code of the CPU. This one adds ten times the value.
void add_ten_times(const KernelCall& call) {
  const auto* const options = call.options<AddBody>();
  ASSERT_NE(options, nullptr);
  const ClosedPages::Open in(call.in[0].raw_data(), sizeof(float));
  const ClosedPages::Open out(call.out[0].raw_data(), sizeof(float));
  *static_cast<float*>(call.out[0].raw_data()) =
      *static_cast<const float*>(call.in[0].raw_data()) + 10 * options->value;
}

TEST(KernelTable, ARowOfADeviceRunsInPlaceOfTheBodyWithItsOptions) {
  const TestDevice test;
  constexpr KernelRow kRows[] = {{"add_value", Device::Kind::kTest, add_ten_times}};
  add_kernel_rows(kRows);
  const Array x = three_values();
  Array y = Array::empty({1});
  launch("add_value", {&x}, {&y}, AddBody{2});
  EXPECT_EQ(y.item(), 3);
  const Array there = x.to(test.device());
  Array result = Array::empty({1}, DType::kF32, test.device());
  launch("add_value", {&there}, {&result}, AddBody{2});
  EXPECT_EQ(result.item(), 21);
  launch("add_another", {&there}, {&result}, AddBody{2});
  EXPECT_EQ(result.item(), 3);
}

TEST(KernelTable, AnyDeviceCanComputeOnTheHost) {
  const TestDevice test;
  constexpr KernelRow kRows[] = {{"add_on_host", Device::Kind::kTest, run_on_host}};
  add_kernel_rows(kRows);
  Array whole = three_values().to(test.device());
  const Array first = whole.select(0, 1);
  Array last = whole.slice(0, 2, 3);
  // Input and output are parts of one storage.
  launch("add_on_host", {&first}, {&last}, AddBody{5});
  EXPECT_THAT(whole.to_vector<float>(), ElementsAre(1, 2, 7));
}

TEST(KernelTable, ADeviceWithoutTheKernelSaysSo) {
  ClosedPages memory;
  set_device_allocator(Device::Kind::kCuda, &memory);
  {
    const Array x = three_values().to(Device{Device::Kind::kCuda, 0});
    Array y = Array::empty({1}, DType::kF32, x.device());
    EXPECT_THAT([&] { launch("add_value", {&x}, {&y}, AddBody{1}); },
                ThrowsMessage<std::invalid_argument>(
                    AllOf(HasSubstr("[add_value]"), HasSubstr("cuda:0"), HasSubstr("to("))));
  }
  set_device_allocator(Device::Kind::kCuda, nullptr);
}

// Refuses; notes nothing.
class NoRecorder final : public Recorder {
 public:
  void record(const LaunchNote&, std::unique_ptr<LaunchBody>) override {}
  void constant(const Array&) override {}
  void host_read(const char*) override {}
};

TEST(KernelTable, AGraphOfAnotherDeviceIsRefused) {
  const TestDevice test;
  const Array x = three_values().to(test.device());
  Array y = Array::empty({1}, DType::kF32, test.device());
  NoRecorder recorder;
  const RecorderScope scope(&recorder);
  EXPECT_THAT(
      [&] { launch("add_another", {&x}, {&y}, AddBody{1}); },
      ThrowsMessage<std::invalid_argument>(AllOf(HasSubstr("[capture]"), HasSubstr("test:0"))));
}

}  // namespace
}  // namespace weft::device_test
