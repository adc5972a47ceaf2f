// Any bytes as the record that a peer left for its next process.
#include "message_decoder.h"
#include "weft/peer/voter_record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::fuzz::check_decoder<weft::VoterRecord>(weft::ByteSpan(data, size));
  return 0;
}
