// What holds for every registered codec, with its default options and at the ends of their ranges.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/codec/codec.h"
#include "weft/codec/codec_def.h"

namespace weft::codec_contract_test {
namespace {

using Vector = std::vector<float>;

// Two matrices in a vector of 257 values, with values before, between and after them.
std::shared_ptr<const MatrixLayout> two_matrices() {
  return std::make_shared<const MatrixLayout>(MatrixLayout{257, {{3, 10, 11}, {120, 9, 15}}});
}

std::vector<Codec> every_codec() {
  std::vector<Codec> all;
  const auto add = [&](const std::string& text) {
    const Result<Codec> codec = Codec::parse(text);
    ASSERT_TRUE(codec.ok()) << codec.status().message();
    all.push_back(*codec);
  };
  for (const CodecDef* def : codecs()) {
    add(std::string(def->name));
    if (all.back().has_shared()) all.push_back(all.back().with_layout(two_matrices()));
    for (const Option& option : def->options) {
      add(fmt::format("{}:{}={}", def->name, option.name, option.min));
      add(fmt::format("{}:{}={}", def->name, option.name, option.max));
    }
  }
  return all;
}

std::vector<std::size_t> sizes() {
  std::vector<std::size_t> all;
  for (std::size_t size = 0; size <= 257; ++size) all.push_back(size);
  all.push_back(100'003);
  return all;
}

Vector random_vector(std::size_t size, std::uint64_t seed) {
  Rng rng(seed);
  Vector values(size);
  // Magnitudes over eight decades, some zeros.
  for (float& value : values) {
    const double scale = std::pow(10, rng.uniform() * 8 - 6);
    value = rng.below(8) == 0 ? 0.0F : static_cast<float>((rng.uniform() * 2 - 1) * scale);
  }
  return values;
}

// Decodes from memory of exactly this length, so that a sanitizer sees a read beyond it.
Status decode_exactly(const Codec& codec, ByteSpan bytes, Vector& out) {
  const auto copy = std::make_unique<std::uint8_t[]>(std::max<std::size_t>(1, bytes.size()));
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return codec.decode({copy.get(), bytes.size()}, out);
}

bool same_bits(const Vector& a, const Vector& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

TEST(CodecContract, NamesAndIdsAreUniqueAndTextsRoundTrip) {
  std::set<std::uint32_t> ids;
  std::set<std::string> texts;
  for (const Codec& codec : every_codec()) {
    texts.insert(codec.text());
    ids.insert(codec.id());
    const Result<Codec> again = Codec::parse(codec.text());
    ASSERT_TRUE(again.ok()) << codec.text();
    EXPECT_EQ(again->text(), codec.text());
    EXPECT_EQ(again->id(), codec.id());
    EXPECT_FALSE(codec.def().summary.empty()) << codec.text();
  }
  EXPECT_EQ(ids.size(), texts.size());
}

TEST(CodecContract, LosesNoMoreThanItSaysInNoMoreBytesThanItSays) {
  for (const Codec& codec : every_codec()) {
    for (const std::size_t size : sizes()) {
      const Vector values = random_vector(size, size + 1);
      const Bytes bytes = codec.encode(values, 5);
      EXPECT_LE(bytes.size(), codec.bytes_max(size)) << codec.text() << ", " << size;
      Vector out(size, 77.0F);
      ASSERT_TRUE(decode_exactly(codec, bytes, out).ok()) << codec.text() << ", " << size;
      double loss = 0;
      for (std::size_t i = 0; i < size; ++i) {
        loss += std::pow(static_cast<double>(values[i]) - static_cast<double>(out[i]), 2);
      }
      EXPECT_LE(loss, codec.loss_max(values) * (1 + 1e-9)) << codec.text() << ", " << size;
      if (codec.is_exact()) {
        EXPECT_TRUE(same_bits(values, out));
      }
    }
  }
}

TEST(CodecContract, SameValuesAndSeedGiveTheSameBytes) {
  for (const Codec& codec : every_codec()) {
    const Vector values = random_vector(1000, 3);
    EXPECT_EQ(codec.encode(values, 9), codec.encode(values, 9)) << codec.text();
  }
}

// What is no finite number, or next to none: the payload decodes, and a NaN is not lost silently
// by codecs whose values are added.
TEST(CodecContract, TakesEveryKindOfNumber) {
  using Limits = std::numeric_limits<float>;
  const std::vector<float> odd = {Limits::quiet_NaN(),  Limits::infinity(),    -Limits::infinity(),
                                  Limits::denorm_min(), -Limits::denorm_min(), Limits::max(),
                                  Limits::lowest(),     Limits::min(),         -0.0F};
  for (const Codec& codec : every_codec()) {
    for (const float value : odd) {
      for (const std::size_t size : {1U, 7U, 8U, 200U}) {
        Vector values = random_vector(size, 11);
        values[size / 2] = value;
        Vector out(size, 77.0F);
        const Bytes bytes = codec.encode(values);
        EXPECT_LE(bytes.size(), codec.bytes_max(size));
        ASSERT_TRUE(decode_exactly(codec, bytes, out).ok()) << codec.text() << ", " << value;
        if (std::isnan(value)) {
          EXPECT_TRUE(std::ranges::any_of(out, [](float x) { return std::isnan(x); }))
              << codec.text();
        } else if (std::isfinite(value)) {
          EXPECT_TRUE(std::ranges::all_of(out, [](float x) { return !std::isnan(x); }))
              << codec.text() << ", " << value;
        }
      }
    }
    const Vector zeros(100, 0.0F);
    Vector out(100, 77.0F);
    ASSERT_TRUE(decode_exactly(codec, codec.encode(zeros), out).ok());
    EXPECT_TRUE(same_bits(out, zeros))
        << codec.text() << ": a member that has nothing says nothing";
  }
}

TEST(CodecContract, EveryPrefixIsRefused) {
  for (const Codec& codec : every_codec()) {
    for (const std::size_t size : {1U, 9U, 130U, 257U}) {
      const Bytes bytes = codec.encode(random_vector(size, 4));
      Vector out(size);
      for (std::size_t length = 0; length < bytes.size(); ++length) {
        EXPECT_EQ(decode_exactly(codec, ByteSpan(bytes).first(length), out).code(), Code::kCorrupt)
            << codec.text() << ": " << length << " of " << bytes.size();
      }
      Bytes longer = bytes;
      longer.push_back(0);
      EXPECT_EQ(decode_exactly(codec, longer, out).code(), Code::kCorrupt) << codec.text();
    }
  }
}

// Every single bit turned, and random bytes: an error or a vector, within memory.
TEST(CodecContract, DamageGivesAnErrorOrAVector) {
  for (const Codec& codec : every_codec()) {
    std::size_t decoded = 0;
    std::size_t refused = 0;
    Rng rng(6);
    for (const std::size_t size : {1U, 9U, 130U, 257U}) {
      Bytes bytes = codec.encode(random_vector(size, 4));
      Vector out(size);
      for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        const auto mask = static_cast<std::uint8_t>(1U << (bit % 8));
        bytes[bit / 8] = static_cast<std::uint8_t>(bytes[bit / 8] ^ mask);
        const Status status = decode_exactly(codec, bytes, out);
        ++(status.ok() ? decoded : refused);
        EXPECT_TRUE(status.ok() || status.code() == Code::kCorrupt);
        bytes[bit / 8] = static_cast<std::uint8_t>(bytes[bit / 8] ^ mask);
      }
      for (int round = 0; round < 2000; ++round) {
        Bytes damaged = bytes;
        if (rng.below(2) == 0) damaged.resize(rng.below(codec.bytes_max(size) + 3));
        for (std::uint64_t left = 1 + rng.below(8); left > 0 && !damaged.empty(); --left) {
          damaged[rng.below(damaged.size())] = static_cast<std::uint8_t>(rng.below(256));
        }
        const Status status = decode_exactly(codec, damaged, out);
        ++(status.ok() ? decoded : refused);
        EXPECT_TRUE(status.ok() || status.code() == Code::kCorrupt);
      }
    }
    EXPECT_GT(decoded + refused, 8000U);
    EXPECT_GT(refused, 0U) << codec.text();
  }
}

TEST(CodecContract, UnknownNamesAndOptionsAreToldWithTheRemedy) {
  const auto refusal = [](std::string_view text) {
    const Result<Codec> codec = Codec::parse(text);
    EXPECT_EQ(codec.status().code(), Code::kInvalidArgument) << text;
    return std::string(codec.status().message());
  };
  std::vector<std::string_view> names;
  for (const CodecDef* def : codecs()) names.push_back(def->name);
  EXPECT_EQ(refusal("topkk"),
            fmt::format("codec: expected one of {}, got \"topkk\"; did you mean \"topk\"?",
                        fmt::join(names, ", ")));
  EXPECT_EQ(refusal("topk:rate=1"), "topk: expected ratio=NUMBER, got \"rate=1\"");
  EXPECT_EQ(refusal("topk:ratio=2"), "topk: ratio: expected a number from 1e-06 to 1, got \"2\"");
  EXPECT_EQ(refusal("bf16:ratio=1"), "bf16: expected no option, got \"ratio=1\"");
  refusal("");
  refusal(":");
  refusal("topk:ratio=");
  refusal(std::string(100'000, ':'));
  refusal(std::string(100'000, 'a'));
}

}  // namespace
}  // namespace weft::codec_contract_test
