// PeerIdentity: a peer's Ed25519 key; its PeerId is the SHA-256 of the 32-byte public key.
//
// The key file is PKCS #8 PEM, readable by its owner only.
// Threads: a value; const methods may be called on any thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/wire/ids.h"

namespace weft {

using PublicKey = std::array<std::uint8_t, 32>;
using Signature = std::array<std::uint8_t, 64>;

class PeerIdentity {
 public:
  // Makes a new key that exists in memory only.
  static PeerIdentity generate();
  // Reads the key at `path`, or makes one there with mode 0600 (and missing folders with 0700).
  // kInvalidArgument if others may read the file, it belongs to another user, or it holds no
  // Ed25519 key; kUnavailable if it cannot be read or written.
  static Result<PeerIdentity> load_or_create(const std::string& path);

  const PeerId& id() const;
  const PublicKey& public_key() const;
  Signature sign(ByteSpan message) const;

  // For the TLS transport in this folder.
  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  explicit PeerIdentity(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  static Result<PeerIdentity> load(const std::string& path);
  static Result<PeerIdentity> create(const std::string& path);

  std::shared_ptr<const Impl> impl_;
};

PeerId peer_id_of(const PublicKey& key);
bool signature_valid(const PublicKey& key, ByteSpan message, const Signature& signature);

}  // namespace weft
