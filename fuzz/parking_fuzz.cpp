// Any bytes as one of the messages of parked links.
#include "message_decoder.h"
#include "weft/wire/parking_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return weft::fuzz::check_decoders<weft::ParkAskMessage, weft::ParkAnswerMessage,
                                    weft::ParkDoneMessage, weft::ParkResumeMessage,
                                    weft::RoutedMessage, weft::ParkedPacket, weft::ParkedFrame>(
      data, size);
}
