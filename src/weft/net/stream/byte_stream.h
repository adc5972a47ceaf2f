// ByteStream: bytes over one connected non-blocking socket, plain or encrypted.
//
// Threads: the loop thread. Borrows the socket, whose owner closes it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>

#include "weft/base/status.h"
#include "weft/net/identity.h"

namespace weft {

struct PrefaceMessage;

enum class IoState : std::uint8_t {
  kMore,       // done, and there may be more to do
  kWantRead,   // wait until the socket is readable
  kWantWrite,  // wait until the socket is writable
  kEnd,        // the other side has ended the stream in good order
  kFailed,     // `error` says why
};

struct IoResult {
  IoState state = IoState::kMore;
  // Bytes moved before `state` was reached.
  std::size_t bytes = 0;
  Status error;
};

// The additional interface of a stream whose bytes do not come through the socket: the loop polls
// it, and the socket only serves as the doorbell of a loop that sleeps. Bytes in SharedMemory are
// not copied but named to the other side, which reads them in place: they count as written once it
// has.
class PolledStream {
 public:
  virtual ~PolledStream() = default;
  virtual bool readable() const = 0;
  // True if write() could take more of `queued` bytes now, or count more of them as written.
  virtual bool writable(std::size_t queued) const = 0;
  // The number of bytes that write() has taken beyond those counted as written: its next parts
  // follow these.
  virtual std::size_t bytes_ahead() const = 0;
  // The next bytes in place, if the other side has named them; it may still change them. They are
  // valid until they are read or released.
  virtual ByteSpan named_bytes() = 0;
  virtual void release_named_bytes() = 0;
  // From now on the other side rings when it has written something or, for `to_write`, read
  // something.
  virtual void ask_for_bell(bool to_write) = 0;
  virtual void withdraw_bell() = 0;
  // Empties the socket; kWantRead while the other side is alive.
  virtual IoResult answer_bell() = 0;
};

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // kMore means that the handshake is done.
  virtual IoResult handshake() = 0;
  virtual IoResult read(const std::array<MutableByteSpan, 2>& parts) = 0;
  // Bytes counted as written may still be in the stream: kWantWrite asks to be called again, with
  // no parts if there are none.
  virtual IoResult write(std::span<const ByteSpan> parts) = 0;
  virtual PolledStream* polled() { return nullptr; }
  // After the handshake: the stream that replaces this one; null if this one continues.
  virtual std::unique_ptr<ByteStream> successor() { return nullptr; }
  // Set if much data is to come; until then the stream's buffers are small.
  virtual void set_large(bool /*large*/) {}
  // Set after a handshake that proved the other side's key.
  virtual std::optional<PeerId> proven_peer() const { return std::nullopt; }
  // The preface that the other side sent, where that ends the handshake; null if there is none.
  virtual const PrefaceMessage* preface() const { return nullptr; }
  // A secret that only the two ends have; empty if there is none.
  virtual std::optional<std::array<std::uint8_t, 32>> exporter() const { return std::nullopt; }
};

std::unique_ptr<ByteStream> make_plain_stream(int socket);
// The meaning of a failed call on a socket.
IoResult io_error(int error, IoState when_blocked);

}  // namespace weft
