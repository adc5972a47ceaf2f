#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "weft/base/bounded_queue.h"
#include "weft/base/bytes.h"
#include "weft/base/hash.h"
#include "weft/base/rng.h"
#include "weft/base/status.h"
#include "weft/base/thread.h"
#include "weft/base/version.h"

namespace weft::base_test {
namespace {

// Known-answer vectors of the Random123 distribution (kat_vectors, philox4x32 10).
TEST(Philox, GivesThePublishedVectors) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Version, IsOneNumber) {
  const std::string text = std::to_string(WEFT_VERSION_MAJOR) + "." +
                           std::to_string(WEFT_VERSION_MINOR) + "." +
                           std::to_string(WEFT_VERSION_PATCH);
  EXPECT_EQ(version(), text);
  EXPECT_GE(WEFT_VERSION, 100);
}

TEST(Rng, BelowIsInRangeAndSeedsDiffer) {
  Rng a(1);
  Rng b(1);
  Rng c(2);
  bool differs = false;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t value = a.below(7);
    EXPECT_LT(value, 7U);
    EXPECT_EQ(value, b.below(7));
    differs = differs || value != c.below(7);
  }
  EXPECT_TRUE(differs);
}

TEST(Rng, NormalHasMeanZeroAndVarianceOne) {
  Rng rng(3);
  double sum = 0;
  double squares = 0;
  constexpr int kCount = 20000;
  for (int i = 0; i < kCount; ++i) {
    const double value = rng.normal();
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / kCount, 0.0, 0.03);
  EXPECT_NEAR(squares / kCount, 1.0, 0.05);
}

TEST(Bytes, TextFormsComeBack) {
  for (std::size_t size = 0; size < 40; ++size) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 37 + size);
    EXPECT_EQ(from_hex(to_hex(bytes)).value(), bytes);
    EXPECT_EQ(from_base32(to_base32(bytes)).value(), bytes);
  }
  // RFC 4648, section 10.
  EXPECT_EQ(to_base32(as_bytes(std::string_view("foobar"))), "mzxw6ytboi");
  EXPECT_EQ(from_hex("0g").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(from_base32("a1").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(from_base32("a").status().code(), Code::kInvalidArgument);
}

TEST(Hash, GivesThePublishedVectors) {
  EXPECT_EQ(to_hex(sha256(as_bytes(std::string_view("abc")))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(hmac_sha256(as_bytes(std::string_view("Jefe")),
                               as_bytes(std::string_view("what do ya want for nothing?")))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(to_hex(xxh3_128({})), "99aa06d3014798d86001c324468d497f");
}

Result<int> half(int value) {
  if (value % 2 != 0) return invalid_argument("half: expected an even number, got 3");
  return value / 2;
}
Result<int> quarter(int value) {
  WEFT_TRY_ASSIGN(const int once, half(value));
  return half(once);
}

// Whose values tell that they are still alive.
Result<std::vector<std::string>> words() {
  return std::vector<std::string>{"a word too long to lie within its string", "and another one"};
}

// A program that embeds the library goes on, and learns why there is no value.
TEST(Result, OfAFailureThrowsItsStatusWhereItIsRead) {
  const Result<int> failed = invalid_argument("rate: expected at least 0, got -1");
  const auto what = [](const auto& read) -> std::string {
    try {
      read();
    } catch (const std::logic_error& mistake) {
      return mistake.what();
    }
    return "";
  };
  const std::string text = "invalid argument: rate: expected at least 0, got -1";
  EXPECT_NE(what([&] { static_cast<void>(*failed); }).find(text), std::string::npos);
  EXPECT_NE(what([&] { static_cast<void>(failed.value()); }).find(text), std::string::npos);
  EXPECT_NE(what([&] { static_cast<void>(*Result<int>(failed)); }).find(text), std::string::npos);
  EXPECT_NE(what([] { static_cast<void>(Result<std::string>(corrupt("c"))->size()); }).find('c'),
            std::string::npos);
  EXPECT_THROW(Result<int>{Status()}, std::logic_error);
}

TEST(Result, OfATemporaryOutlivesIt) {
  std::string all;
  for (const std::string& word : *words()) all += word;
  const std::vector<std::string>& kept = words().value();
  EXPECT_EQ(all, kept[0] + kept[1]);
  const Status& why = Result<int>(invalid_argument("a reason that is kept on the heap")).status();
  EXPECT_EQ(why.message(), "a reason that is kept on the heap");
}

TEST(Status, TryHandsOnTheFirstFailure) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(6).status().to_string(),
            "invalid argument: half: expected an even number, got 3");
  EXPECT_EQ(quarter(6).status().with_context("quarter").message(),
            "quarter: half: expected an even number, got 3");
}

TEST(BoundedQueue, RefusesPastCapacityAndDrainsAfterClose) {
  const SystemClock clock;
  BoundedQueue<int> queue(2);
  EXPECT_TRUE(queue.try_push(1));
  EXPECT_TRUE(queue.try_push(2));
  EXPECT_FALSE(queue.try_push(3));
  EXPECT_FALSE(queue.push(3, clock.now()));
  queue.close();
  const TimePoint deadline = deadline_after(clock, from_seconds(10));
  EXPECT_EQ(queue.pop(deadline), 1);
  EXPECT_EQ(queue.pop(deadline), 2);
  EXPECT_EQ(queue.pop(deadline), std::nullopt);
}

TEST(BoundedQueue, MovesEveryValueBetweenThreads) {
  const SystemClock clock;
  BoundedQueue<int> queue(3);
  const TimePoint deadline = deadline_after(clock, from_seconds(30));
  Thread producer([&] {
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(queue.push(i, deadline));
    queue.close();
  });
  int expected = 0;
  while (const auto value = queue.pop(deadline)) EXPECT_EQ(*value, expected++);
  EXPECT_EQ(expected, 1000);
}

TEST(Guarded, WakesAWaiter) {
  const SystemClock clock;
  Guarded<int> value(0);
  Thread setter([&] { value.with([](int& v) { v = 7; }); });
  EXPECT_TRUE(
      value.wait_until(deadline_after(clock, from_seconds(30)), [](int v) { return v == 7; }));
  EXPECT_FALSE(value.wait_until(clock.now(), [](int v) { return v == 8; }));
}

TEST(PollUntil, AsksUntilItHoldsOrTheDeadlineHasPassedAndOnceAtLeast) {
  const SystemClock clock;
  int asked = 0;
  const auto third = [&] { return ++asked == 3; };
  EXPECT_TRUE(
      poll_until(clock, deadline_after(clock, from_seconds(30)), from_seconds(1e-4), third));
  EXPECT_EQ(asked, 3);
  EXPECT_FALSE(poll_until(clock, clock.now(), from_seconds(30), third));
  EXPECT_EQ(asked, 4);
  const auto never = [] { return false; };
  EXPECT_FALSE(poll_until(clock, deadline_after(clock, from_seconds(1e-3)), Duration{}, never));
  EXPECT_TRUE(poll_until(clock, clock.now(), Duration{}, [] { return true; }));
}

}  // namespace
}  // namespace weft::base_test
