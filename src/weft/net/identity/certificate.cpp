#include <openssl/err.h>

#include "weft/net/identity/identity_impl.h"

namespace weft {

namespace {

// The dates bind nobody: peers know each other by key, and their clocks may be wrong.
constexpr long kValidBeforeSeconds = 24L * 3600;
constexpr long kValidAfterSeconds = 10L * 365 * 24 * 3600;

}  // namespace

std::string openssl_error() {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "no reason given" : reason;
}

Result<OpenSslPtr<X509>> make_certificate(const PeerIdentity& identity) {
  OpenSslPtr<X509> certificate(X509_new());
  EVP_PKEY* key = identity.impl().key.get();
  X509* x509 = certificate.get();
  const std::string name = identity.id().short_name();
  bool done = x509 != nullptr && X509_set_version(x509, X509_VERSION_3) == 1 &&
              ASN1_INTEGER_set(X509_get_serialNumber(x509), 1) == 1 &&
              X509_gmtime_adj(X509_getm_notBefore(x509), -kValidBeforeSeconds) != nullptr &&
              X509_gmtime_adj(X509_getm_notAfter(x509), kValidAfterSeconds) != nullptr &&
              X509_set_pubkey(x509, key) == 1;
  if (done) {
    X509_NAME* subject = X509_get_subject_name(x509);
    done = X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                      reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                                      0) == 1 &&
           X509_set_issuer_name(x509, subject) == 1 && X509_sign(x509, key, nullptr) > 0;
  }
  if (!done) return internal_error("certificate: " + openssl_error());
  return certificate;
}

Result<PublicKey> public_key_of(X509& certificate) {
  EVP_PKEY* key = X509_get0_pubkey(&certificate);
  PublicKey raw{};
  std::size_t size = raw.size();
  if (key == nullptr || EVP_PKEY_get_id(key) != EVP_PKEY_ED25519 ||
      EVP_PKEY_get_raw_public_key(key, raw.data(), &size) != 1 || size != raw.size()) {
    static_cast<void>(openssl_error());
    return corrupt("certificate: expected an Ed25519 key");
  }
  if (X509_verify(&certificate, key) != 1) {
    static_cast<void>(openssl_error());
    return corrupt("certificate: expected its own key's signature");
  }
  return raw;
}

}  // namespace weft
