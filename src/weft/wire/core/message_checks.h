// Checks that hold for every message, for the tests of this folder and its users.
#pragma once

#include <gtest/gtest.h>

#include "weft/base/bytes.h"
#include "weft/base/status.h"

namespace weft {

// Checks the round trip; that each shorter prefix and a longer message are kCorrupt; and that, with
// any four bytes set to ones (every length and count among them), the message is refused or decodes
// as another message with just that encoding.
template <class Message>
void check_message(const Message& message) {
  const Bytes bytes = message.encode();
  const Result<Message> whole = Message::decode(bytes);
  ASSERT_TRUE(whole.ok()) << whole.status().to_string();
  EXPECT_EQ(whole->encode(), bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Bytes prefix(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(Message::decode(prefix).status().code(), Code::kCorrupt) << "prefix of " << size;
  }
  Bytes longer = bytes;
  longer.push_back(0);
  EXPECT_EQ(Message::decode(longer).status().code(), Code::kCorrupt);
  for (std::size_t at = 0; at + 4 <= bytes.size(); ++at) {
    Bytes altered = bytes;
    for (std::size_t i = at; i < at + 4; ++i) altered[i] = 0xff;
    const Result<Message> other = Message::decode(altered);
    if (other.ok()) {
      EXPECT_EQ(other->encode(), altered) << "ones at " << at;
    } else {
      EXPECT_EQ(other.status().code(), Code::kCorrupt) << "ones at " << at;
    }
  }
}

}  // namespace weft
