// Any bytes as one of the messages of methods of loose exchange.
#include "message_decoder.h"
#include "weft/wire/mix_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return weft::fuzz::check_decoders<weft::MixGivenMessage, weft::MixReturnedMessage,
                                    weft::MixReceivedMessage, weft::MixRosterMessage,
                                    weft::MixHistoryMessage, weft::MixLeavingMessage>(data, size);
}
