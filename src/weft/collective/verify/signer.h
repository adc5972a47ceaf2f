// Signer: what a member signs with, and how it checks what others have signed.
//
// Threads: const methods on any thread. Fails: never.
#pragma once

#include <memory>

#include "weft/base/bytes.h"
#include "weft/net/identity.h"
#include "weft/wire/ids.h"

namespace weft {

class Signer {
 public:
  virtual ~Signer() = default;
  virtual PublicKey public_key() const = 0;
  // The same for the same message, and not to be guessed without the key.
  virtual Signature sign(ByteSpan message) const = 0;
  // Whether `key` is `peer`'s and made the signature.
  virtual bool valid(const PeerId& peer, const PublicKey& key, ByteSpan message,
                     const Signature& signature) const = 0;
};

// With the key by which the others know this peer.
std::shared_ptr<const Signer> make_signer(const PeerIdentity& identity);

}  // namespace weft
