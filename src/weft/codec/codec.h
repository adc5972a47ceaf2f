// Codec: how an f32 vector becomes bytes for the network, and bytes a vector again.
//
// A text names one with its options: "bf16", "topk:ratio=0.01". Each file NAME_codec.cpp is one
// (or several of one small kind); see docs/HACKING.md to add one.
//
// A codec stands in one of two places. Per hop: each partial sum on its way through a ring or
// butterfly is rounded anew; only codecs of a fixed number of bits can (hop_precision). Per member:
// each member encodes its whole input once, the payloads are gathered, and everybody decodes and
// combines all of them; any codec can, and its payloads may have any length up to bytes_max().
//
// A codec has no state. What it drops is kept, committed and rolled back by ErrorFeedback, and so
// are the factors that all members share, for a codec that encodes against some. Where it stands:
// collective exchanges payloads; train parses the recipe's text. Threads: immutable once parsed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/codec/shared_factors.h"
#include "weft/codec/wire_precision.h"

namespace weft {

struct CodecDef;  // codec_def.h

// How decoded vectors become one.
enum class CodecSum : std::uint8_t {
  kSum = 0,       // added in rank order
  kMajority = 1,  // of each coordinate the sign of the sum of the signs; 0 for a tie
};

class Codec {
 public:
  // "f32": the bits as they are.
  Codec();
  // kInvalidArgument for an unknown name (says the nearest), an option that the codec has not or
  // that is out of its range.
  static Result<Codec> parse(std::string_view text);

  // The same codec for vectors that consist of these matrices, which only some codecs look at.
  // The same at all members; null: nothing is known.
  Codec with_layout(std::shared_ptr<const MatrixLayout> layout) const;

  // As it was parsed, without options that have their default.
  std::string text() const;
  // A hash of the text: equal if name and options are.
  std::uint32_t id() const { return id_; }
  const CodecDef& def() const { return *def_; }
  // The values travel as they are.
  bool is_exact() const;
  // In what precision segments travel where the codec stands per hop; nothing if it cannot.
  std::optional<WirePrecision> hop_precision() const;
  // What it drops is worth keeping: see ErrorFeedback.
  bool has_feedback() const;
  CodecSum sum() const;

  // No payload of so many elements has more bytes.
  std::size_t bytes_max(std::size_t elements) const;
  // `seed`: for what is drawn; the same values, seed and shared factors give the same bytes on
  // every machine. `shared`: of as many elements; null: those that begin with the seed 0.
  Bytes encode(std::span<const float> values, std::uint64_t seed = 0,
               const SharedFactors* shared = nullptr) const;
  // Fills `out`, which has as many elements as were encoded. kCorrupt for bytes that no encoder
  // gives with these factors; then what `out` holds means nothing.
  Status decode(ByteSpan bytes, std::span<float> out, const SharedFactors* shared = nullptr) const;
  // The largest sum of squared differences between `values`, all finite, and what they decode to.
  double loss_max(std::span<const float> values) const;

  // Members encode against factors that they share.
  bool has_shared() const;
  // For vectors of so many elements. REQUIRES: has_shared().
  SharedFactors begin_shared(std::size_t elements, std::uint64_t seed) const;
  // After the exchange with this result. `seed`: for what has to be drawn anew.
  // REQUIRES: has_shared(), result.size() == shared.elements.
  SharedFactors next_shared(const SharedFactors& shared, std::span<const float> result,
                            std::uint64_t seed) const;

  // Combines decoded vectors one by one, in rank order: `sum` begins as zeros, takes each member's,
  // and is the result after finish().
  void add(std::span<const float> decoded, std::span<float> sum) const;
  void finish(std::span<float> sum) const;

 private:
  void set(const CodecDef& def, std::vector<double> options);
  // The factors to encode or decode against: `given`, or new ones, which `made` then holds.
  const SharedFactors* factors(const SharedFactors* given, std::size_t elements,
                               std::optional<SharedFactors>& made) const;

  const CodecDef* def_ = nullptr;
  // In the order of the codec's options.
  std::vector<double> options_;
  std::shared_ptr<const MatrixLayout> layout_;
  std::uint32_t id_ = 0;
};

// All codecs, by name.
std::span<const CodecDef* const> codecs();

}  // namespace weft
