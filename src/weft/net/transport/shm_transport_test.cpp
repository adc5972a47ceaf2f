#include "weft/net/shm_transport.h"

#include <array>
#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weft/net/identity.h"
#include "weft/net/shm/shm_ring.h"
#include "weft/net/shm/shm_stream.h"
#include "weft/net/stream/socket.h"
#include "weft/net/testing/socket_world.h"

namespace weft::shm_transport_test {

namespace {

// A private folder that goes with its owner.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "weft-shm-XXXXXX").string();
    WEFT_CHECK(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct HasFolder {
  Folder folder;
};

// The folder outlives the transports.
class ShmWorld final : private HasFolder, public SocketWorld {
 public:
  ShmWorld() {
    for (int peer = 0; peer < kPeers; ++peer) {
      ShmOptions options;
      options.folder = folder.path();
      add(peer, make_shm_transport(loop_, PeerIdentity::generate().id(), options));
    }
  }
  std::string dead_endpoint() override { return "unix:" + folder.path() + "/nobody"; }
};

std::unique_ptr<TransportWorld> make_shm_world() { return std::make_unique<ShmWorld>(); }

INSTANTIATE_TEST_SUITE_P(Shm, TransportContract,
                         ::testing::Values(TransportCase{"shm", make_shm_world}), case_name);

TEST(ShmTransport, AFolderThatOthersMayEnterIsRefused) {
  const Folder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  EventLoop loop;
  ShmOptions options;
  options.folder = folder.path();
  const auto made = make_shm_transport(loop, PeerIdentity::generate().id(), options);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), Code::kInvalidArgument);
}

TEST(ShmTransport, LeavesNoSocketBehind) {
  const Folder folder;
  EventLoop loop;
  ShmOptions options;
  options.folder = folder.path() + "/made";
  { const auto made = make_shm_transport(loop, PeerIdentity::generate().id(), options).value(); }
  EXPECT_TRUE(std::filesystem::is_empty(options.folder));
}

TEST(ShmRing, GivesBackWhatWasWrittenInAnyPieces) {
  constexpr std::size_t kCapacity = 4096;
  std::vector<std::uint64_t> memory(shm_ring_bytes(kCapacity) / 8 + 16);
  void* start = memory.data();
  std::size_t room = memory.size() * 8;
  ASSERT_NE(std::align(64, shm_ring_bytes(kCapacity), start, room), nullptr);
  ShmRingWriter writer(static_cast<std::uint8_t*>(start), kCapacity);
  ShmRingReader reader(static_cast<std::uint8_t*>(start), kCapacity);
  std::uint8_t next_in = 0;
  std::uint8_t next_out = 0;
  std::size_t piece = 1;
  for (int turn = 0; turn < 2000; ++turn) {
    piece = piece * 7 % 5003;
    Bytes bytes(piece);
    for (std::uint8_t& byte : bytes) byte = next_in++;
    const std::size_t put = writer.put(bytes);
    writer.show();
    next_in = static_cast<std::uint8_t>(next_in - (piece - put));
    Bytes got(piece / 2 + 1);
    got.resize(reader.get(got));
    reader.release();
    for (const std::uint8_t byte : got) ASSERT_EQ(byte, next_out++);
    ASSERT_TRUE(writer.sound() && reader.sound());
  }
}

// Sends an offer of `ring_bytes` with a descriptor of `file_bytes`; returns what comes of it.
IoResult offer(std::uint32_t magic, std::uint32_t ring_bytes, std::size_t file_bytes, int seals) {
  std::array<int, 2> pair{};
  WEFT_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data()) == 0);
  const Socket ours(pair[0]);
  const Socket theirs(pair[1]);
  const Socket memory(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  WEFT_CHECK(::ftruncate(memory.get(), static_cast<off_t>(file_bytes)) == 0);
  if (seals != 0) WEFT_CHECK(::fcntl(memory.get(), F_ADD_SEALS, seals) == 0);
  std::array<std::uint32_t, 2> words{magic, ring_bytes};
  iovec part{words.data(), sizeof words};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  const int descriptor = memory.get();
  std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
  WEFT_CHECK(::sendmsg(ours.get(), &message, MSG_NOSIGNAL) == sizeof words);
  return accept_shm_stream(theirs.get())->handshake();
}

TEST(ShmStream, OffersThatCouldHarmAreRefused) {
  constexpr std::uint32_t kMagic = 0x32687377;
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  const std::size_t right = 2 * shm_ring_bytes(4096);
  EXPECT_EQ(offer(kMagic, 4096, right, kSeals).state, IoState::kMore);
  EXPECT_EQ(offer(kMagic + 1, 4096, right, kSeals).state, IoState::kFailed);
  EXPECT_EQ(offer(kMagic, 0, right, kSeals).state, IoState::kFailed);
  EXPECT_EQ(offer(kMagic, 4097, right, kSeals).state, IoState::kFailed);
  EXPECT_EQ(offer(kMagic, 8192, right, kSeals).state, IoState::kFailed);
  EXPECT_EQ(offer(kMagic, 0xfffff000, right, kSeals).state, IoState::kFailed);
  EXPECT_EQ(offer(kMagic, 4096, right, 0).state, IoState::kFailed);
}

}  // namespace

}  // namespace weft::shm_transport_test
