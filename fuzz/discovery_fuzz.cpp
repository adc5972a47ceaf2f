// Any bytes as a datagram of discovery or a record of the rendezvous.
#include "message_decoder.h"
#include "weft/wire/discovery_message.h"
#include "weft/wire/rendezvous_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return weft::fuzz::check_decoders<weft::DiscoveryQuery, weft::DiscoveryAnswer,
                                    weft::RendezvousRecord, weft::CodeAnswer, weft::CodeTicket>(
      data, size);
}
