#include "weft/codec/wire_precision.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "weft/base/check.h"
#include "weft/codec/loops/codec_loops.h"

namespace weft {

static_assert(std::endian::native == std::endian::little, "values travel in little-endian order");

static constexpr std::array<std::string_view, 4> kNames = {"f32", "bf16", "f16", "int8"};
// A piece stays in the first-level cache through all its passes; a multiple of kInt8Block.
static constexpr std::size_t kPiece = 2048;
static_assert(kPiece % kInt8Block == 0);

std::string_view to_string(WirePrecision precision) {
  return kNames[static_cast<std::size_t>(precision)];
}

Result<WirePrecision> parse_wire_precision(std::string_view text) {
  const auto* const found = std::find(kNames.begin(), kNames.end(), text);
  if (found == kNames.end()) {
    return invalid_argument(
        fmt::format("wire precision: expected f32, bf16, f16 or int8, got '{}'", text));
  }
  return static_cast<WirePrecision>(found - kNames.begin());
}

std::size_t encoded_bytes(WirePrecision precision, std::size_t elements) {
  switch (precision) {
    case WirePrecision::kF32:
      return 4 * elements;
    case WirePrecision::kBf16:
    case WirePrecision::kF16:
      return 2 * elements;
    case WirePrecision::kInt8:
      break;
  }
  return elements + (elements + kInt8Block - 1) / kInt8Block * sizeof(float);
}

std::size_t elements_in(WirePrecision precision, std::size_t bytes) {
  const std::size_t block = encoded_bytes(precision, kInt8Block);
  return std::max<std::size_t>(1, bytes / block) * kInt8Block;
}

void encode(WirePrecision precision, std::span<const float> values, MutableByteSpan out) {
  WEFT_CHECK(out.size() == encoded_bytes(precision, values.size()));
  if (values.empty()) return;
  const CodecLoops& loops = codec_loops();
  switch (precision) {
    case WirePrecision::kF32:
      std::memcpy(out.data(), values.data(), out.size());
      return;
    case WirePrecision::kBf16:
      return loops.encode_bf16(values.data(), out.data(), values.size());
    case WirePrecision::kF16:
      return loops.encode_f16(values.data(), out.data(), values.size());
    case WirePrecision::kInt8:
      return loops.encode_int8(values.data(), out.data(), values.size());
  }
}

void decode(WirePrecision precision, ByteSpan bytes, std::span<float> out) {
  WEFT_CHECK(bytes.size() == encoded_bytes(precision, out.size()));
  if (out.empty()) return;
  const CodecLoops& loops = codec_loops();
  switch (precision) {
    case WirePrecision::kF32:
      std::memcpy(out.data(), bytes.data(), bytes.size());
      return;
    case WirePrecision::kBf16:
      return loops.decode_bf16(bytes.data(), out.data(), out.size());
    case WirePrecision::kF16:
      return loops.decode_f16(bytes.data(), out.data(), out.size());
    case WirePrecision::kInt8:
      return loops.decode_int8(bytes.data(), out.data(), out.size());
  }
}

void encode_keeping(WirePrecision precision, std::span<float> values, MutableByteSpan out,
                    std::span<float> residual) {
  WEFT_CHECK(out.size() == encoded_bytes(precision, values.size()));
  WEFT_CHECK(residual.empty() || residual.size() == values.size());
  const CodecLoops& loops = codec_loops();
  std::array<float, kPiece> rounded;
  for (std::size_t at = 0; at < values.size(); at += kPiece) {
    const std::span<float> piece = values.subspan(at, std::min(kPiece, values.size() - at));
    const MutableByteSpan place =
        out.subspan(encoded_bytes(precision, at), encoded_bytes(precision, piece.size()));
    if (!residual.empty()) loops.add(piece.data(), residual.data() + at, piece.size());
    encode(precision, piece, place);
    if (residual.empty()) {
      decode(precision, place, piece);
      continue;
    }
    decode(precision, place, std::span(rounded).first(piece.size()));
    loops.keep(piece.data(), rounded.data(), residual.data() + at, piece.size());
  }
}

}  // namespace weft
