#include "weft/wire/end_message.h"

#include "weft/wire/codec.h"

namespace weft {

Bytes RunOverMessage::encode() const { return Writer().round(round).u32(serves_for_ms).take(); }

Result<RunOverMessage> RunOverMessage::decode(ByteSpan bytes) {
  Reader in("run_over", bytes);
  RunOverMessage message;
  message.round = in.round("round");
  message.serves_for_ms = in.u32("serves_for_ms");
  if (message.serves_for_ms > kServesForMsMax) in.fail("serves_for_ms", "expected 0 to 60000");
  WEFT_TRY(in.finish());
  return message;
}

}  // namespace weft
