// PrefaceStream: exchanges a preface (wire/reach_message.h) in the clear before the stream that it
// wraps begins.
//
// Threads: the loop thread. Fails: kCorrupt for an invalid preface.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "weft/net/stream/byte_stream.h"
#include "weft/wire/reach_message.h"

namespace weft {

enum class PrefaceHearing : std::uint8_t {
  kNone,     // the other side sends none
  kPerhaps,  // it may send one; then the handshake ends there, and preface() holds it
  kOne,      // it sends the counterpart of this side's, and the wrapped stream follows
};

class PrefaceStream final : public ByteStream {
 public:
  // Borrows `socket`, as `inner` does.
  PrefaceStream(int socket, std::unique_ptr<ByteStream> inner, std::optional<PrefaceMessage> say,
                PrefaceHearing hearing);

  IoResult handshake() override;
  IoResult read(const std::array<MutableByteSpan, 2>& parts) override {
    return inner_->read(parts);
  }
  IoResult write(std::span<const ByteSpan> parts) override { return inner_->write(parts); }
  std::unique_ptr<ByteStream> successor() override;
  const PrefaceMessage* preface() const override;

 private:
  IoResult say();
  IoResult hear();
  bool answers(const PrefaceMessage& heard) const;

  int socket_;
  std::unique_ptr<ByteStream> inner_;
  Bytes say_;
  std::size_t said_ = 0;
  PrefaceHearing hearing_;
  bool heard_ = false;
  std::array<std::uint8_t, kPrefaceBytes> bytes_{};
  std::size_t got_ = 0;
  std::optional<PrefaceMessage> preface_;
};

}  // namespace weft
