// SimSigner: signatures of simulated peers, which have names but no keys.
//
// They are the same at every run, unlike those of fresh keys, and anybody who knows a name can
// forge them: for the simulator and tests only.
#pragma once

#include <algorithm>
#include <memory>

#include "weft/base/hash.h"
#include "weft/collective/verify/signer.h"

namespace weft {

class SimSigner final : public Signer {
 public:
  explicit SimSigner(const PeerId& self) : self_(self) {}
  PublicKey public_key() const override { return self_.bytes; }
  Signature sign(ByteSpan message) const override { return signature_of(self_, message); }
  bool valid(const PeerId& peer, const PublicKey& key, ByteSpan message,
             const Signature& signature) const override {
    return key == peer.bytes && signature == signature_of(peer, message);
  }

 private:
  static Signature signature_of(const PeerId& peer, ByteSpan message) {
    Signature signature{};
    const Hash256 hash = hmac_sha256(peer.bytes, message);
    std::ranges::copy(hash, signature.begin());
    return signature;
  }
  PeerId self_;
};

inline std::shared_ptr<const Signer> make_sim_signer(const PeerId& self) {
  return std::make_shared<SimSigner>(self);
}

}  // namespace weft
