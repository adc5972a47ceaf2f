#include "weft/collective/verify/signer.h"

#include <utility>

namespace weft {
namespace {

class IdentitySigner final : public Signer {
 public:
  explicit IdentitySigner(PeerIdentity identity) : identity_(std::move(identity)) {}
  PublicKey public_key() const override { return identity_.public_key(); }
  Signature sign(ByteSpan message) const override { return identity_.sign(message); }
  bool valid(const PeerId& peer, const PublicKey& key, ByteSpan message,
             const Signature& signature) const override {
    return peer_id_of(key) == peer && signature_valid(key, message, signature);
  }

 private:
  PeerIdentity identity_;
};

}  // namespace

std::shared_ptr<const Signer> make_signer(const PeerIdentity& identity) {
  return std::make_shared<IdentitySigner>(identity);
}

}  // namespace weft
