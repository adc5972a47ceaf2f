// Any bytes as one of the messages that a stranger may send, or gets.
#include "message_decoder.h"
#include "weft/wire/end_message.h"
#include "weft/wire/join_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return weft::fuzz::check_decoders<weft::RecipeRequestMessage, weft::RecipeMessage,
                                    weft::JoinRequestMessage, weft::JoinAcceptedMessage,
                                    weft::JoinRefusedMessage, weft::AdmitRequestMessage,
                                    weft::RunOverMessage>(data, size);
}
