// Any bytes as one of the messages of a round.
#include "message_decoder.h"
#include "weft/wire/collective_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return weft::fuzz::check_decoders<weft::SegmentHead, weft::ReadyMessage, weft::DoneMessage,
                                    weft::FinishedMessage, weft::StateHashMessage,
                                    weft::ProgressMessage, weft::ReportMessage, weft::RoundReports>(
      data, size);
}
