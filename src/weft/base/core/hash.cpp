#include "weft/base/hash.h"

#include <algorithm>

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <xxhash.h>

namespace weft {

// OpenSSL looks EVP_sha256() up anew, under its locks, each time that it is used; this is the
// result.
static const EVP_MD* sha256_method() {
  static const EVP_MD* const method = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return method;
}

struct Sha256::Context {
  EVP_MD_CTX* digest = EVP_MD_CTX_new();
  Context() {
    WEFT_CHECK(digest && sha256_method());
    WEFT_CHECK(EVP_DigestInit_ex2(digest, sha256_method(), nullptr) == 1);
  }
  ~Context() { EVP_MD_CTX_free(digest); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {}
Sha256::~Sha256() = default;

Sha256& Sha256::update(ByteSpan bytes) {
  WEFT_CHECK(EVP_DigestUpdate(context_->digest, bytes.data(), bytes.size()) == 1);
  return *this;
}

Hash256 Sha256::finish() {
  Hash256 hash{};
  WEFT_CHECK(EVP_DigestFinal_ex(context_->digest, hash.data(), nullptr) == 1);
  return hash;
}

Hash256 sha256(ByteSpan bytes) { return Sha256().update(bytes).finish(); }

Hash256 hmac_sha256(ByteSpan key, ByteSpan message) {
  Hash256 out{};
  unsigned length = 0;
  WEFT_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), message.data(),
                  message.size(), out.data(), &length) != nullptr);
  WEFT_CHECK(length == out.size());
  return out;
}

Hash128 xxh3_128(ByteSpan bytes) {
  XXH128_canonical_t canonical{};
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  Hash128 hash{};
  std::copy(std::begin(canonical.digest), std::end(canonical.digest), hash.begin());
  return hash;
}

void random_bytes(MutableByteSpan out) {
  WEFT_CHECK(RAND_bytes(out.data(), static_cast<int>(out.size())) == 1);
}

}  // namespace weft
