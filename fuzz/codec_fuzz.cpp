// Any bytes as a payload of each codec: one byte for the codec, two for the number of elements, and
// the payload. It decodes or is refused; what it decodes to can be encoded within the bound and
// decodes again.
#include <cstring>
#include <vector>

#include "weft/base/check.h"
#include "weft/codec/codec.h"
#include "weft/codec/codec_def.h"
#include "weft/codec/payload.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const auto all = weft::codecs();
  const weft::Codec codec = *weft::Codec::parse(all[data[0] % all.size()]->name);
  const std::size_t elements = static_cast<std::size_t>(data[1]) | std::size_t{data[2]} << 8U;
  const weft::ByteSpan bytes(data + 3, size - 3);
  const auto head =
      weft::read_payload_head(bytes, {codec.id(), elements, codec.bytes_max(elements)});
  WEFT_CHECK(!head.ok() || head->length_bytes <= codec.bytes_max(elements));
  std::vector<float> values(elements);
  const weft::Status status = codec.decode(bytes, values);
  WEFT_CHECK(status.ok() || status.code() == weft::Code::kCorrupt);
  if (!status.ok()) return 0;
  const weft::Bytes again = codec.encode(values);
  WEFT_CHECK(again.size() <= codec.bytes_max(elements));
  WEFT_CHECK(codec.decode(again, values).ok());
  return 0;
}
