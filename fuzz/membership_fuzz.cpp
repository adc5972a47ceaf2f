// Any bytes as one of the messages of membership and agreement.
#include "message_decoder.h"
#include "weft/wire/membership_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return weft::fuzz::check_decoders<
      weft::HeartbeatMessage, weft::SuspicionMessage, weft::PrepareMessage, weft::PromiseMessage,
      weft::AcceptMessage, weft::AcceptedMessage, weft::RejectedMessage, weft::ViewNoticeMessage,
      weft::RemovedMessage, weft::OutsideMessage, weft::LeavingMessage, weft::JoinerMessage>(data,
                                                                                             size);
}
