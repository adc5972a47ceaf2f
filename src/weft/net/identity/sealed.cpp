#include "weft/net/identity/sealed.h"

#include <memory>

#include <openssl/evp.h>

#include "weft/base/check.h"
#include "weft/net/identity/identity_impl.h"

namespace weft {

namespace {

constexpr std::size_t kSealIvBytes = 12;
constexpr std::size_t kSealTagBytes = kSealBytes - kSealIvBytes;

struct SealContextFree {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using SealContext = std::unique_ptr<EVP_CIPHER_CTX, SealContextFree>;

int seal_size(ByteSpan bytes) { return static_cast<int>(bytes.size()); }

}  // namespace

Bytes seal(const Hash256& key, ByteSpan context, ByteSpan plain) {
  Bytes out(plain.size() + kSealBytes);
  random_bytes(MutableByteSpan(out).first(kSealIvBytes));
  const SealContext cipher(EVP_CIPHER_CTX_new());
  int size = 0;
  std::uint8_t* body = out.data() + kSealIvBytes;
  const bool good =
      EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.data(), out.data()) == 1 &&
      (context.empty() ||
       EVP_EncryptUpdate(cipher.get(), nullptr, &size, context.data(), seal_size(context)) == 1) &&
      EVP_EncryptUpdate(cipher.get(), body, &size, plain.data(), seal_size(plain)) == 1 &&
      EVP_EncryptFinal_ex(cipher.get(), body + size, &size) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, static_cast<int>(kSealTagBytes),
                          body + plain.size()) == 1;
  WEFT_CHECK(good);
  return out;
}

Result<Bytes> open_sealed(const Hash256& key, ByteSpan context, ByteSpan sealed) {
  if (sealed.size() < kSealBytes) return corrupt("sealed bytes: too few");
  const ByteSpan body = sealed.subspan(kSealIvBytes, sealed.size() - kSealBytes);
  const ByteSpan end = sealed.last(kSealTagBytes);
  Bytes tag(end.begin(), end.end());
  Bytes out(body.size());
  const SealContext cipher(EVP_CIPHER_CTX_new());
  int size = 0;
  const bool good =
      EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.data(), sealed.data()) ==
          1 &&
      (context.empty() ||
       EVP_DecryptUpdate(cipher.get(), nullptr, &size, context.data(), seal_size(context)) == 1) &&
      EVP_DecryptUpdate(cipher.get(), out.data(), &size, body.data(), seal_size(body)) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, static_cast<int>(kSealTagBytes),
                          tag.data()) == 1 &&
      EVP_DecryptFinal_ex(cipher.get(), out.data() + size, &size) == 1;
  static_cast<void>(openssl_error());
  if (!good) return corrupt("sealed bytes: another key or context, or altered");
  return out;
}

}  // namespace weft
