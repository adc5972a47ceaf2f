// Any bytes as one of the messages that bring two peers together, or as a preface.
#include "message_decoder.h"
#include "weft/wire/reach_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return weft::fuzz::check_decoders<weft::IntroduceMessage, weft::IntroductionMessage,
                                    weft::RelayOfferMessage, weft::ReachRefusedMessage,
                                    weft::PrefaceMessage>(data, size);
}
