// What holds for every message decoder, whatever bytes it gets.
//
// An input is one byte that chooses the message (modulo their number), then its encoding: seeds of
// corpus/NAME are made in that form by make_corpus.py.
// Threads: functions of their arguments.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/base/bytes.h"
#include "weft/base/check.h"
#include "weft/base/status.h"

namespace weft::fuzz {

// Refused as corrupt, or a message whose encoding is a fixed point of decode and encode.
template <class Message>
void check_decoder(ByteSpan bytes) {
  const Result<Message> message = Message::decode(bytes);
  if (!message.ok()) {
    WEFT_CHECK(message.status().code() == Code::kCorrupt);
    return;
  }
  const Bytes encoded = message->encode();
  // One encoding a value where nothing is rewritten for people; never a longer one.
  WEFT_CHECK(encoded.size() == bytes.size());
  const Result<Message> again = Message::decode(encoded);
  WEFT_CHECK(again.ok());
  WEFT_CHECK(again->encode() == encoded);
}

// The first byte chooses among `Messages`.
template <class... Messages>
int check_decoders(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  constexpr std::array<void (*)(ByteSpan), sizeof...(Messages)> kChecks = {
      &check_decoder<Messages>...};
  kChecks[data[0] % kChecks.size()](ByteSpan(data, size).subspan(1));
  return 0;
}

}  // namespace weft::fuzz
