// Any bytes as one of the messages about the lines between members.
#include "message_decoder.h"
#include "weft/wire/link_rate_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return weft::fuzz::check_decoders<weft::LinkReportMessage, weft::ProbeHead>(data, size);
}
