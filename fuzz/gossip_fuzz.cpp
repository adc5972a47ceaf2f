// Any bytes as one of the messages of gossip.
#include "message_decoder.h"
#include "weft/wire/gossip_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return weft::fuzz::check_decoders<weft::GossipBookMessage, weft::GossipParametersHead,
                                    weft::GossipAbsentMessage, weft::GossipParametersRequestMessage,
                                    weft::GossipWelcomeMessage>(data, size);
}
