// Any bytes as one of the messages that make and end a link.
#include "message_decoder.h"
#include "weft/wire/link_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return weft::fuzz::check_decoders<weft::HelloMessage, weft::HelloReplyMessage,
                                    weft::GoodbyeMessage, weft::ShortcutMessage,
                                    weft::ShortcutHelloMessage, weft::LaneMovedMessage,
                                    weft::ConnectionsMessage, weft::AliveMessage>(data, size);
}
