// OpenSSL's view of an identity: its key, and the certificate that shows the key in a handshake.
#pragma once

#include <memory>

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "weft/base/status.h"
#include "weft/net/identity.h"

namespace weft {

struct OpenSslFree {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(BIO* bio) const { BIO_free(bio); }
};
template <class T>
using OpenSslPtr = std::unique_ptr<T, OpenSslFree>;

struct PeerIdentity::Impl {
  OpenSslPtr<EVP_PKEY> key;
  PublicKey public_key{};
  PeerId id;
};

// Makes a self-signed certificate of the identity's key. Its names and dates have no meaning.
Result<OpenSslPtr<X509>> make_certificate(const PeerIdentity& identity);
// Returns the key of a certificate; kCorrupt unless it is an Ed25519 key that signed the
// certificate.
Result<PublicKey> public_key_of(X509& certificate);
// Returns OpenSSL's error stack as text, and empties it.
std::string openssl_error();

}  // namespace weft
