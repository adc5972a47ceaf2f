#include "weft/collective/report/weighted_part.h"

#include <bit>
#include <cstdint>
#include <limits>

#include "weft/base/check.h"
#include "weft/wire/codec.h"

namespace weft {

static constexpr std::uint8_t kPartVersion = 1;
static constexpr double kWeightMax = std::numeric_limits<float>::max();

Bytes WeightedPart::encode() const {
  WEFT_CHECK(weight >= 0 && weight <= kWeightMax);
  Writer out;
  out.u8(kPartVersion).f64(weight).u64(std::bit_cast<std::uint64_t>(weighted_loss));
  return out.take();
}

Result<WeightedPart> WeightedPart::decode(ByteSpan bytes) {
  Reader in("weighted part", bytes);
  WeightedPart part;
  if (in.u8("version") != kPartVersion) in.fail("version", "expected 1");
  part.weight = in.f64("weight");
  if (!(part.weight >= 0 && part.weight <= kWeightMax)) {
    in.fail("weight", "expected 0 to the largest f32");
  }
  part.weighted_loss = std::bit_cast<double>(in.u64("weighted loss"));
  WEFT_TRY(in.finish());
  return part;
}

WeightedPart sum_of_parts(std::span<const Bytes> reports) {
  WeightedPart sum;
  for (const Bytes& bytes : reports) {
    const Result<WeightedPart> part = WeightedPart::decode(bytes);
    if (!part.ok()) continue;
    sum.weight += part->weight;
    sum.weighted_loss += part->weighted_loss;
  }
  return sum;
}

}  // namespace weft
