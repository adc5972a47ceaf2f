// TLS 1.3 with mutual authentication: the layer of the tls transport between socket and frames.
//
// Both sides must show a certificate of an Ed25519 key; proven_peer() returns whose it is. No other
// version, no session resumption, ALPN "weft/1".
#pragma once

#include <memory>

#include "weft/base/status.h"
#include "weft/net/stream/byte_stream.h"

namespace weft {

class TlsContext {
 public:
  static Result<std::unique_ptr<TlsContext>> make(const PeerIdentity& identity);
  virtual ~TlsContext() = default;
  // Borrows `socket`; the context outlives the stream.
  virtual std::unique_ptr<ByteStream> dial(int socket) = 0;
  virtual std::unique_ptr<ByteStream> accept(int socket) = 0;
};

}  // namespace weft
