// What a file NAME_codec.cpp defines: one codec.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "weft/base/bytes.h"
#include "weft/base/option.h"
#include "weft/base/status.h"
#include "weft/codec/codec.h"
#include "weft/codec/shared_factors.h"

namespace weft {

// What a codec is given beside values or bytes.
struct CodecInput {
  // In the order of CodecDef::options.
  std::span<const double> options;
  // For what is drawn.
  std::uint64_t seed = 0;
  // Null: nothing is known of the vector but its length.
  const MatrixLayout* layout = nullptr;
  // For vectors of this length. Set in encode and decode where the codec has begin_shared.
  const SharedFactors* shared = nullptr;
};

struct CodecDef {
  std::string_view name;
  // One sentence for help pages, with the source.
  std::string_view summary;
  std::span<const Option> options = {};
  // Set where it can stand per hop.
  std::optional<WirePrecision> hop = {};
  CodecSum sum = CodecSum::kSum;
  // Members keep what it drops and add it to what they encode next.
  bool feedback = false;
  // Each as the method of Codec says.
  std::size_t (*bytes_max)(const CodecInput& input, std::size_t elements);
  // Appends the payload to `out`, which has room for bytes_max() more.
  void (*encode)(const CodecInput& input, std::span<const float> values, Bytes& out);
  // `bytes` come from anybody: no more is read than there is, whatever they say.
  Status (*decode)(const CodecInput& input, ByteSpan bytes, std::span<float> out);
  double (*loss_max)(const CodecInput& input, std::span<const float> values);
  // Null for a codec whose payloads can be decoded without shared factors.
  SharedFactors (*begin_shared)(const CodecInput& input, std::size_t elements) = nullptr;
  // What follows `input.shared` after an exchange with this result. Set where begin_shared is.
  SharedFactors (*next_shared)(const CodecInput& input, std::span<const float> result) = nullptr;
};

}  // namespace weft
