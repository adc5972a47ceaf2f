// Any bytes as one of the messages of a verified round.
#include "message_decoder.h"
#include "weft/wire/verify_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return weft::fuzz::check_decoders<weft::Statement, weft::CommitmentMessage, weft::TableMessage,
                                    weft::EchoMessage, weft::StatementsMessage>(data, size);
}
