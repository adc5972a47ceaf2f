// Any bytes as one of the messages that say who may take part no longer.
#include "message_decoder.h"
#include "weft/wire/admission_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return weft::fuzz::check_decoders<weft::AccusationMessage, weft::RevocationMessage,
                                    weft::MemberProofMessage>(data, size);
}
