// Any bytes as one of the messages of state transfer.
#include "message_decoder.h"
#include "weft/wire/state_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return weft::fuzz::check_decoders<
      weft::StateQueryMessage, weft::StateOfferMessage, weft::BlockRequestMessage, weft::BlockHead,
      weft::BlockMissingMessage, weft::ResultRequestMessage, weft::ResultHead,
      weft::ResultMissingMessage, weft::HeldStateMessage, weft::StateReceivedMessage,
      weft::StateHistory>(data, size);
}
