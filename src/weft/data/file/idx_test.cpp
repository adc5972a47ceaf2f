#include "weft/data/idx.h"

#include <gtest/gtest.h>
#include <libdeflate.h>

#include "weft/base/rng.h"
#include "weft/data/file/gzip.h"

namespace weft::idx_test {
namespace {

Bytes idx_2x3() { return {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 10, 11, 12, 13, 14, 15}; }

Bytes gzip(ByteSpan plain) {
  libdeflate_compressor* const compressor = libdeflate_alloc_compressor(6);
  Bytes out(libdeflate_gzip_compress_bound(compressor, plain.size()));
  out.resize(
      libdeflate_gzip_compress(compressor, plain.data(), plain.size(), out.data(), out.size()));
  libdeflate_free_compressor(compressor);
  return out;
}

TEST(Idx, SizesAndValuesAreRead) {
  const Bytes bytes = idx_2x3();
  const Result<IdxView> view = parse_idx(bytes);
  ASSERT_TRUE(view.ok()) << view.status().to_string();
  EXPECT_EQ(view->sizes, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(Bytes(view->values.begin(), view->values.end()), (Bytes{10, 11, 12, 13, 14, 15}));
}

TEST(Idx, TruncationAtEachByteAndOneByteTooManyAreCorrupt) {
  Bytes bytes = idx_2x3();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_EQ(parse_idx(ByteSpan(bytes).first(length)).status().code(), Code::kCorrupt) << length;
  }
  bytes.push_back(0);
  EXPECT_EQ(parse_idx(bytes).status().message(),
            "IDX values: expected 6 bytes from offset 12 on, got 7");
}

TEST(Idx, HostileHeadersAreRefusedWithTheField) {
  const auto message = [](std::size_t at, std::uint8_t value) {
    Bytes bytes = idx_2x3();
    bytes[at] = value;
    const Result<IdxView> view = parse_idx(bytes);
    EXPECT_EQ(view.status().code(), Code::kCorrupt);
    return view.status().message();
  };
  EXPECT_EQ(message(0, 1), "IDX magic at offset 0: expected 00 00 08 (unsigned bytes), got 010008");
  EXPECT_EQ(message(2, 0x0D),
            "IDX magic at offset 0: expected 00 00 08 (unsigned bytes), got 00000d");
  EXPECT_EQ(message(3, 0), "IDX dimensions at offset 3: expected 1 to 4, got 0");
  EXPECT_EQ(message(3, 5), "IDX dimensions at offset 3: expected 1 to 4, got 5");
  EXPECT_EQ(message(4, 0xFF),
            "IDX sizes at offset 4: expected at most 1073741824 values, got more");
  // Four sizes of 2^32 - 1: the product must not wrap to something small.
  Bytes huge = {0, 0, 8, 4};
  huge.resize(20, 0xFF);
  EXPECT_EQ(parse_idx(huge).status().code(), Code::kCorrupt);
}

TEST(Idx, ASizeOfZeroHoldsNothing) {
  const Bytes empty = {0, 0, 8, 1, 0, 0, 0, 0};
  const Result<IdxView> view = parse_idx(empty);
  ASSERT_TRUE(view.ok());
  EXPECT_TRUE(view->values.empty());
}

TEST(Gzip, RoundTripAlsoOfSeveralMembers) {
  Rng rng(3);
  Bytes plain(100000);
  for (std::uint8_t& byte : plain) byte = static_cast<std::uint8_t>(rng.below(7));
  Bytes packed = gzip(plain);
  const Result<Bytes> once = gunzip(packed, plain.size());
  ASSERT_TRUE(once.ok()) << once.status().to_string();
  EXPECT_EQ(*once, plain);
  const Bytes more = gzip(as_bytes("tail"));
  packed.insert(packed.end(), more.begin(), more.end());
  const Result<Bytes> twice = gunzip(packed, 1U << 20U);
  ASSERT_TRUE(twice.ok()) << twice.status().to_string();
  EXPECT_EQ(twice->size(), plain.size() + 4);
  const Result<Bytes> nothing = gunzip(gzip({}), 0);
  ASSERT_TRUE(nothing.ok()) << nothing.status().to_string();
  EXPECT_TRUE(nothing->empty());
}

TEST(Gzip, TruncationAtEachByteAndEachFlippedBitNeverGiveOtherBytes) {
  const Bytes plain = idx_2x3();
  const Bytes packed = gzip(plain);
  for (std::size_t length = 0; length < packed.size(); ++length) {
    EXPECT_EQ(gunzip(ByteSpan(packed).first(length), 1000).status().code(), Code::kCorrupt)
        << length;
  }
  for (std::size_t at = 10; at < packed.size(); ++at) {  // before: time, flags, system
    Bytes bent = packed;
    bent[at] ^= 0x10U;
    // Deflate has padding bits that mean nothing.
    const Result<Bytes> out = gunzip(bent, 1000);
    EXPECT_TRUE(out.ok() ? *out == plain : out.status().code() == Code::kCorrupt) << at;
  }
  Bytes tail = packed;
  tail.push_back('x');
  EXPECT_EQ(gunzip(tail, 1000).status().code(), Code::kCorrupt);
}

TEST(Gzip, ASmallFileCannotFillTheMemory) {
  const Bytes packed = gzip(Bytes(10U << 20U, 0));
  ASSERT_LT(packed.size(), 20000U);
  const Result<Bytes> out = gunzip(packed, 1U << 20U);
  EXPECT_EQ(out.status().message(), "gzip: expected at most 1048576 bytes of output, got more");
  const Result<Bytes> exact = gunzip(packed, 10U << 20U);
  EXPECT_TRUE(exact.ok());
}

TEST(Idx, MissingFilesAreNamed) {
  const Result<IdxFile> file = read_idx("/nonexistent/train-images-idx3-ubyte.gz");
  EXPECT_EQ(file.status().code(), Code::kUnavailable);
  EXPECT_NE(file.status().message().find("/nonexistent/train-images"), std::string::npos);
}

}  // namespace
}  // namespace weft::idx_test
