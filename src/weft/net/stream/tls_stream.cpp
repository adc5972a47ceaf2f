#include "weft/net/stream/tls_stream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/auxv.h>
#include <sys/socket.h>

#include "weft/net/identity/identity_impl.h"

namespace weft {

namespace {

constexpr std::size_t kRecordBytes = 16 * 1024;
// Encrypted bytes are gathered up to this before the system is called: several records a call,
// and still in the core's cache when they are copied.
constexpr std::size_t kOutputBytes = 128 * 1024;
constexpr std::size_t kInputBytes = 128 * 1024;
// A stranger's: one record.
constexpr std::size_t kSmallInputBytes = kRecordBytes + 512;
// After the handshake the other side may say only that it uses new keys; correct ones do so about
// once in kBytesPerKey, and each costs this side a key and perhaps an answer.
constexpr std::uint64_t kKeyUpdatesFree = 16;
constexpr std::uint64_t kBytesPerKeyUpdate = std::uint64_t{1} << 30;
// AES-GCM keys must not protect more than 2^24.5 records (RFC 8446, 5.5); this is far below.
constexpr std::uint64_t kBytesPerKey = std::uint64_t{1} << 36;
constexpr unsigned char kAlpn[] = {6, 'w', 'e', 'f', 't', '/', '1'};
constexpr std::string_view kExporterLabel = "EXPORTER-weft-link-1";

struct SslFree {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(BIO_METHOD* method) const { BIO_meth_free(method); }
};

// Encrypted bytes on their way to the socket; the BIO below appends to it.
struct Output {
  Bytes bytes;
  std::size_t sent = 0;

  bool empty() const { return sent == bytes.size(); }
  IoResult flush(int socket) {
    while (!empty()) {
      const ssize_t size = ::send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (size < 0) return io_error(errno, IoState::kWantWrite);
      sent += static_cast<std::size_t>(size);
    }
    bytes.clear();
    sent = 0;
    return {};
  }
};

int output_write(BIO* bio, const char* data, std::size_t size, std::size_t* written) {
  auto* output = static_cast<Output*>(BIO_get_data(bio));
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(data);
  output->bytes.insert(output->bytes.end(), bytes, bytes + size);
  *written = size;
  return 1;
}

long output_control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

using BioMethod = std::unique_ptr<BIO_METHOD, SslFree>;

BioMethod make_output_method() {
  BioMethod method(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weft output"));
  if (method != nullptr) {
    BIO_meth_set_write_ex(method.get(), output_write);
    BIO_meth_set_ctrl(method.get(), output_control);
  }
  return method;
}

class TlsStream final : public ByteStream {
 public:
  TlsStream(SSL_CTX& context, std::shared_ptr<BIO_METHOD> output_method, int socket, bool dialled)
      : socket_(socket), output_method_(std::move(output_method)), ssl_(SSL_new(&context)) {
    WEFT_CHECK(ssl_ != nullptr);
    BIO* out = BIO_new(output_method_.get());
    WEFT_CHECK(out != nullptr);
    BIO_set_data(out, &output_);
    BIO_set_init(out, 1);
    SSL_set_bio(ssl_.get(), BIO_new_socket(socket, BIO_NOCLOSE), out);
    SSL_set_default_read_buffer_len(ssl_.get(), kSmallInputBytes);
    // So that a read ends, and is looked at, after records that carry nothing.
    SSL_clear_mode(ssl_.get(), SSL_MODE_AUTO_RETRY);
    SSL_set_msg_callback(ssl_.get(), count_message);
    SSL_set_msg_callback_arg(ssl_.get(), this);
    if (dialled) {
      SSL_set_connect_state(ssl_.get());
    } else {
      SSL_set_accept_state(ssl_.get());
    }
  }

  IoResult handshake() override;
  IoResult read(const std::array<MutableByteSpan, 2>& parts) override;
  IoResult write(std::span<const ByteSpan> parts) override;
  void set_large(bool large) override;
  std::optional<PeerId> proven_peer() const override { return peer_; }
  std::optional<std::array<std::uint8_t, 32>> exporter() const override;

 private:
  // OpenSSL's callback for each message of the handshake, and for those after it.
  static void count_message(int from_here, int version, int type, const void* bytes,
                            std::size_t size, SSL* ssl, void* stream);
  bool updates_too_often() const {
    return key_updates_ > kKeyUpdatesFree + bytes_read_ / kBytesPerKeyUpdate;
  }
  void resize_input();
  IoResult read_parts(const std::array<MutableByteSpan, 2>& parts);
  IoResult outcome(int result);
  IoResult encrypt(ByteSpan bytes);
  // Takes parts from (`part`, `offset`) on into one record's worth of bytes.
  ByteSpan next_chunk(std::span<const ByteSpan> parts, std::size_t& part, std::size_t& offset);

  int socket_;
  Output output_;
  // OpenSSL keeps a bare pointer to it.
  std::shared_ptr<BIO_METHOD> output_method_;
  std::unique_ptr<SSL, SslFree> ssl_;
  std::optional<PeerId> peer_;
  std::uint64_t bytes_under_key_ = 0;
  std::uint64_t bytes_read_ = 0;
  std::uint64_t key_updates_ = 0;
  bool large_ = false;
  // The read buffer has still to be made anew, once it is empty.
  bool resizing_ = false;
  // Taken when small parts are first put together.
  Bytes gathered_;
};

IoResult TlsStream::outcome(int result) {
  const int saved = errno;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return {IoState::kWantRead, 0, {}};
    case SSL_ERROR_WANT_WRITE:
      return {IoState::kWantWrite, 0, {}};
    case SSL_ERROR_ZERO_RETURN:
      return {IoState::kEnd, 0, {}};
    case SSL_ERROR_SYSCALL:
      ERR_clear_error();
      if (saved == 0) return {IoState::kEnd, 0, {}};
      return {IoState::kFailed, 0, io_error(saved, IoState::kFailed).error};
    default:
      break;
  }
  if (ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    ERR_clear_error();
    return {IoState::kEnd, 0, {}};
  }
  return {IoState::kFailed, 0, corrupt("TLS: " + openssl_error())};
}

IoResult TlsStream::handshake() {
  errno = 0;
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  const IoResult step = result == 1 ? IoResult{} : outcome(result);
  // Also when it failed: the alert tells the other side why.
  IoResult flushed = output_.flush(socket_);
  if (step.state != IoState::kMore) {
    return flushed.state == IoState::kWantWrite && step.state == IoState::kWantRead ? flushed
                                                                                    : step;
  }
  if (flushed.state != IoState::kMore) return flushed;
  X509* certificate = SSL_get0_peer_certificate(ssl_.get());
  if (certificate == nullptr) return {IoState::kFailed, 0, corrupt("TLS: no certificate")};
  const Result<PublicKey> key = public_key_of(*certificate);
  if (!key.ok()) return {IoState::kFailed, 0, key.status()};
  const unsigned char* protocol = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &protocol, &size);
  if (size != kAlpn[0] || std::memcmp(protocol, kAlpn + 1, size) != 0) {
    return {IoState::kFailed, 0, corrupt("TLS: expected the protocol weft/1")};
  }
  peer_ = peer_id_of(*key);
  return {};
}

// OpenSSL's signature. NOLINTNEXTLINE(readability-function-size)
void TlsStream::count_message(int from_here, int /*version*/, int type, const void* bytes,
                              std::size_t size, SSL* /*ssl*/, void* stream) {
  if (from_here != 0 || type != SSL3_RT_HANDSHAKE || size == 0) return;
  if (*static_cast<const unsigned char*>(bytes) == SSL3_MT_KEY_UPDATE) {
    ++static_cast<TlsStream*>(stream)->key_updates_;
  }
}

void TlsStream::set_large(bool large) {
  if (large == large_) return;
  large_ = large;
  SSL_set_default_read_buffer_len(ssl_.get(), large ? kInputBytes : kSmallInputBytes);
  resizing_ = true;
  resize_input();
  if (large) return output_.bytes.reserve(kOutputBytes + 2 * kRecordBytes);
  gathered_ = Bytes();
  if (output_.empty()) output_ = Output();
}

void TlsStream::resize_input() {
  // What is there is read first.
  if (!resizing_ || SSL_has_pending(ssl_.get()) != 0) return;
  if (SSL_free_buffers(ssl_.get()) == 1) resizing_ = false;
}

IoResult TlsStream::read(const std::array<MutableByteSpan, 2>& parts) {
  resize_input();
  IoResult result = read_parts(parts);
  bytes_read_ += result.bytes;
  if (updates_too_often()) {
    return {IoState::kFailed, result.bytes, corrupt("TLS: too many key updates")};
  }
  // What TLS says on its own account.
  if (!output_.empty() && result.state == IoState::kWantRead) {
    IoResult flushed = output_.flush(socket_);
    if (flushed.state == IoState::kMore) return result;
    flushed.bytes = result.bytes;
    return flushed;
  }
  return result;
}

IoResult TlsStream::read_parts(const std::array<MutableByteSpan, 2>& parts) {
  IoResult result;
  for (const MutableByteSpan part : parts) {
    std::size_t filled = 0;
    while (filled < part.size()) {
      std::size_t got = 0;
      errno = 0;
      ERR_clear_error();
      const int done = SSL_read_ex(ssl_.get(), part.data() + filled, part.size() - filled, &got);
      if (done != 1) {
        IoResult stop = outcome(done);
        stop.bytes = result.bytes;
        return stop;
      }
      filled += got;
      result.bytes += got;
    }
  }
  return result;
}

IoResult TlsStream::encrypt(ByteSpan bytes) {
  std::size_t written = 0;
  errno = 0;
  ERR_clear_error();
  const int done = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written);
  if (done != 1) return outcome(done);
  bytes_under_key_ += written;
  if (bytes_under_key_ > kBytesPerKey) {
    bytes_under_key_ = 0;
    SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
  }
  return {};
}

ByteSpan TlsStream::next_chunk(std::span<const ByteSpan> parts, std::size_t& part,
                               std::size_t& offset) {
  const ByteSpan rest = parts[part].subspan(offset);
  if (rest.size() >= kRecordBytes || part + 1 == parts.size()) {
    const std::size_t size = std::min(rest.size(), kRecordBytes);
    offset += size;
    if (size == rest.size()) {
      ++part;
      offset = 0;
    }
    return rest.first(size);
  }
  gathered_.resize(kRecordBytes);
  std::size_t filled = 0;
  while (part < parts.size() && filled < gathered_.size()) {
    const ByteSpan piece = parts[part].subspan(offset);
    const std::size_t size = std::min(piece.size(), gathered_.size() - filled);
    std::memcpy(gathered_.data() + filled, piece.data(), size);
    filled += size;
    offset += size;
    if (size == piece.size()) {
      ++part;
      offset = 0;
    }
  }
  return ByteSpan(gathered_).first(filled);
}

IoResult TlsStream::write(std::span<const ByteSpan> parts) {
  IoResult result = output_.flush(socket_);
  std::size_t part = 0;
  std::size_t offset = 0;
  while (result.state == IoState::kMore && part < parts.size()) {
    while (part < parts.size() && output_.bytes.size() < kOutputBytes) {
      const ByteSpan chunk = next_chunk(parts, part, offset);
      IoResult step = encrypt(chunk);
      if (step.state != IoState::kMore) return step;
      result.bytes += chunk.size();
    }
    IoResult flushed = output_.flush(socket_);
    flushed.bytes = result.bytes;
    result = flushed;
  }
  return result;
}

std::optional<std::array<std::uint8_t, 32>> TlsStream::exporter() const {
  std::array<std::uint8_t, 32> secret{};
  if (SSL_export_keying_material(ssl_.get(), secret.data(), secret.size(), kExporterLabel.data(),
                                 kExporterLabel.size(), nullptr, 0, 0) != 1) {
    return std::nullopt;
  }
  return secret;
}

int choose_alpn(SSL*, const unsigned char** out, unsigned char* out_size,
                const unsigned char* offered, unsigned offered_size, void*) {
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, kAlpn, sizeof kAlpn, offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

// The chain that X.509 wants is replaced by: one certificate, signed by its own Ed25519 key. That
// the other side holds the key is proved by the handshake's CertificateVerify.
int verify_certificate(X509_STORE_CTX* store, void*) {
  X509* certificate = X509_STORE_CTX_get0_cert(store);
  const bool good = certificate != nullptr && public_key_of(*certificate).ok();
  X509_STORE_CTX_set_error(store, good ? X509_V_OK : X509_V_ERR_CERT_REJECTED);
  return good ? 1 : 0;
}

class OpenSslContext final : public TlsContext {
 public:
  OpenSslContext(std::unique_ptr<SSL_CTX, SslFree> context, BioMethod method)
      : context_(std::move(context)), output_method_(std::move(method)) {}

  std::unique_ptr<ByteStream> dial(int socket) override {
    return std::make_unique<TlsStream>(*context_, output_method_, socket, true);
  }
  std::unique_ptr<ByteStream> accept(int socket) override {
    return std::make_unique<TlsStream>(*context_, output_method_, socket, false);
  }

 private:
  std::unique_ptr<SSL_CTX, SslFree> context_;
  std::shared_ptr<BIO_METHOD> output_method_;
};

bool has_aes() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("aes") != 0;
#elif defined(__aarch64__)
  return (getauxval(AT_HWCAP) & HWCAP_AES) != 0;
#else
  return false;
#endif
}

// Hardware AES is several times faster than ChaCha20; without it the order turns round.
const char* cipher_order() {
  return has_aes() ? "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
                   : "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384";
}

}  // namespace

Result<std::unique_ptr<TlsContext>> TlsContext::make(const PeerIdentity& identity) {
  WEFT_TRY_ASSIGN(const OpenSslPtr<X509> certificate, make_certificate(identity));
  std::unique_ptr<SSL_CTX, SslFree> owned(SSL_CTX_new(TLS_method()));
  SSL_CTX* context = owned.get();
  BioMethod method = make_output_method();
  if (context == nullptr || method == nullptr ||
      SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(context, cipher_order()) != 1 ||
      SSL_CTX_set1_groups_list(context, "X25519") != 1 ||
      SSL_CTX_set1_sigalgs_list(context, "ed25519") != 1 ||
      SSL_CTX_set1_client_sigalgs_list(context, "ed25519") != 1 ||
      SSL_CTX_use_certificate(context, certificate.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context, identity.impl().key.get()) != 1 ||
      SSL_CTX_set_num_tickets(context, 0) != 1 ||
      // This one returns 0 for success.
      SSL_CTX_set_alpn_protos(context, kAlpn, sizeof kAlpn) != 0) {
    return internal_error("TLS: " + openssl_error());
  }
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_alpn_select_cb(context, choose_alpn, nullptr);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_cert_verify_callback(context, verify_certificate, nullptr);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_default_read_buffer_len(context, kInputBytes);
  return std::unique_ptr<TlsContext>(
      std::make_unique<OpenSslContext>(std::move(owned), std::move(method)));
}

}  // namespace weft
