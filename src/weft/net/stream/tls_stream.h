// TLS 1.3 with mutual authentication: what the tls transport puts between socket and frames.
//
// Both sides must show a certificate of an Ed25519 key; who that is, proven_peer() tells. No other
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
