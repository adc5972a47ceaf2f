// Any bytes as one of the messages of a collective that is not a round.
#include "message_decoder.h"
#include "weft/wire/group_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return weft::fuzz::check_decoders<weft::GroupSegmentHead, weft::GroupReadyMessage,
                                    weft::GroupDoneMessage>(data, size);
}
