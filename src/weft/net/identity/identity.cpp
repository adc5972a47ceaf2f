#include "weft/net/identity.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weft/base/file.h"
#include "weft/net/identity/identity_impl.h"

namespace weft {

namespace {

constexpr std::size_t kKeyFileBytesMax = 16 * 1024;

std::string system_error_text(int error) { return std::generic_category().message(error); }

// Without it OpenSSL would ask the terminal for the password of an encrypted key.
int no_password(char*, int, int, void*) { return -1; }

Result<PublicKey> raw_public_key(const EVP_PKEY& key) {
  PublicKey raw{};
  std::size_t size = raw.size();
  if (EVP_PKEY_get_id(&key) != EVP_PKEY_ED25519 ||
      EVP_PKEY_get_raw_public_key(&key, raw.data(), &size) != 1 || size != raw.size()) {
    return corrupt("key: expected Ed25519");
  }
  return raw;
}

Status check_key_file(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    return unavailable(fmt::format("identity {}: {}", path, system_error_text(errno)));
  }
  if (!S_ISREG(info.st_mode)) {
    return invalid_argument(fmt::format("identity {}: expected a file", path));
  }
  if ((info.st_mode & 077U) != 0) {
    return invalid_argument(
        fmt::format("identity {}: expected mode 0600, got {:04o}: others could take this peer's "
                    "name; run: chmod 600 {}",
                    path, info.st_mode & 07777U, path));
  }
  if (info.st_uid != ::geteuid()) {
    return invalid_argument(
        fmt::format("identity {}: expected a file of user {}, got one of user {}", path,
                    ::geteuid(), info.st_uid));
  }
  return {};
}

}  // namespace

PeerId peer_id_of(const PublicKey& key) { return {sha256(key)}; }

PeerIdentity PeerIdentity::generate() {
  auto impl = std::make_shared<Impl>();
  impl->key.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  WEFT_CHECK(impl->key != nullptr);
  impl->public_key = raw_public_key(*impl->key).value();
  impl->id = peer_id_of(impl->public_key);
  return PeerIdentity(std::move(impl));
}

Result<PeerIdentity> PeerIdentity::load(const std::string& path) {
  WEFT_TRY(check_key_file(path));
  WEFT_TRY_ASSIGN(const Bytes text, read_file(path, kKeyFileBytesMax));
  const OpenSslPtr<BIO> bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  auto impl = std::make_shared<Impl>();
  impl->key.reset(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  if (impl->key == nullptr) {
    return invalid_argument(fmt::format(
        "identity {}: expected an Ed25519 key in PEM form ({}); move the file away to get a new "
        "identity",
        path, openssl_error()));
  }
  const Result<PublicKey> raw = raw_public_key(*impl->key);
  if (!raw.ok()) {
    return invalid_argument(fmt::format("identity {}: {}", path, raw.status().message()));
  }
  impl->public_key = *raw;
  impl->id = peer_id_of(*raw);
  return PeerIdentity(std::move(impl));
}

Result<PeerIdentity> PeerIdentity::create(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty() && !std::filesystem::exists(folder, error)) {
    std::filesystem::create_directories(folder, error);
    if (error) return unavailable(fmt::format("identity {}: {}", path, error.message()));
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  }
  const PeerIdentity made = generate();
  const OpenSslPtr<BIO> bio(BIO_new(BIO_s_mem()));
  WEFT_CHECK(PEM_write_bio_PrivateKey(bio.get(), made.impl().key.get(), nullptr, nullptr, 0,
                                      nullptr, nullptr) == 1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  WEFT_TRY(write_file_atomically(
      path, as_bytes(std::string_view(text, static_cast<std::size_t>(size))), {.mode = 0600}));
  return load(path);
}

Result<PeerIdentity> PeerIdentity::load_or_create(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 && errno == ENOENT) return create(path);
  return load(path);
}

const PeerId& PeerIdentity::id() const { return impl_->id; }
const PublicKey& PeerIdentity::public_key() const { return impl_->public_key; }

Signature PeerIdentity::sign(ByteSpan message) const {
  Signature signature{};
  std::size_t size = signature.size();
  const OpenSslPtr<EVP_MD_CTX> context(EVP_MD_CTX_new());
  WEFT_CHECK(EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, impl_->key.get()) == 1);
  WEFT_CHECK(
      EVP_DigestSign(context.get(), signature.data(), &size, message.data(), message.size()) == 1);
  return signature;
}

bool signature_valid(const PublicKey& key, ByteSpan message, const Signature& signature) {
  const OpenSslPtr<EVP_PKEY> public_key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, key.data(), key.size()));
  const OpenSslPtr<EVP_MD_CTX> context(EVP_MD_CTX_new());
  const bool valid =
      public_key != nullptr &&
      EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, public_key.get()) == 1 &&
      EVP_DigestVerify(context.get(), signature.data(), signature.size(), message.data(),
                       message.size()) == 1;
  static_cast<void>(openssl_error());
  return valid;
}

}  // namespace weft
