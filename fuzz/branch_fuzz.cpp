// Any bytes as one of the messages by which branches are founded and meet.
#include "message_decoder.h"
#include "weft/wire/branch_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return weft::fuzz::check_decoders<weft::BranchMessage, weft::StandingMessage>(data, size);
}
