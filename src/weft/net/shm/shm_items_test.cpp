#include "weft/net/shm/shm_items.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <numeric>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "weft/net/identity.h"
#include "weft/net/shm_transport.h"
#include "weft/net/testing/socket_world.h"

namespace weft::shm_items_test {
namespace {

constexpr std::size_t kRingBytes = 64 * 1024;
constexpr std::size_t kRegionBytes = 128 * 1024;
constexpr std::uint8_t kData = 0x42;

std::shared_ptr<SharedMemory> filled_memory() {
  auto memory = SharedMemory::make(kRegionBytes);
  WEFT_CHECK(memory != nullptr);
  std::iota(memory->bytes().begin(), memory->bytes().end(), std::uint8_t{1});
  return memory;
}

// Both ends of one direction.
class ShmItems : public ::testing::Test {
 protected:
  ShmItems() {
    std::array<int, 2> pair{};
    WEFT_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data()) == 0);
    sockets_ = {Socket(pair[0]), Socket(pair[1])};
    void* memory = std::aligned_alloc(64, shm_ring_bytes(kRingBytes));
    std::memset(memory, 0, shm_ring_bytes(kRingBytes));
    memory_.reset(static_cast<std::uint8_t*>(memory));
    writer_ = ShmItemWriter(sockets_[0].get(), ShmRingWriter(memory_.get(), kRingBytes));
    reader_ = ShmItemReader(sockets_[1].get(), ShmRingReader(memory_.get(), kRingBytes));
  }
  std::size_t take(std::vector<ByteSpan> parts) { return writer_.take(parts); }
  // A writer that is not bound by anything says this.
  Status said(std::uint32_t kind, std::uint32_t size, std::uint64_t place) {
    std::array<std::uint8_t, 16> item;
    std::memcpy(item.data(), &kind, 4);
    std::memcpy(item.data() + 4, &size, 4);
    std::memcpy(item.data() + 8, &place, 8);
    writer_.ring().put(item);
    writer_.ring().show();
    return reader_.next();
  }

  struct Free {
    void operator()(std::uint8_t* memory) const { std::free(memory); }
  };
  std::array<Socket, 2> sockets_;
  std::unique_ptr<std::uint8_t, Free> memory_;
  ShmItemWriter writer_;
  ShmItemReader reader_;
};

TEST_F(ShmItems, BytesOfOthersAreCopiedAndCountAtOnce) {
  const Bytes small{1, 2, 3};
  const Bytes large(20000, 7);
  ASSERT_EQ(take({small, large, small}), 20006U);
  EXPECT_EQ(writer_.settle(), 20006U);
  Bytes got(30000);
  std::size_t size = 0;
  while (reader_.next().ok() && reader_.named().empty()) {
    const std::size_t more = reader_.get(MutableByteSpan(got).subspan(size));
    if (more == 0) break;
    size += more;
  }
  ASSERT_EQ(size, 20006U);
  EXPECT_EQ(got[2], 3);
  EXPECT_EQ(got[3], 7);
  EXPECT_EQ(got[20005], 3);
}

TEST_F(ShmItems, NamedBytesAreReadWhereTheyLieAndCountOnceLetGoOf) {
  const auto memory = filled_memory();
  const Bytes head{9};
  const ByteSpan named = memory->bytes().subspan(4096, 50000);
  ASSERT_EQ(take({head, named, head}), 50002U);
  EXPECT_EQ(writer_.settle(), 1U);
  EXPECT_EQ(writer_.ahead(), 50001U);
  ASSERT_TRUE(reader_.next().ok());
  Bytes one(1);
  ASSERT_EQ(reader_.get(one), 1U);
  ASSERT_TRUE(reader_.next().ok());
  reader_.ring().release();
  EXPECT_FALSE(writer_.can_settle());
  ASSERT_EQ(reader_.named().size(), named.size());
  EXPECT_NE(reader_.named().data(), named.data());
  EXPECT_TRUE(std::equal(named.begin(), named.end(), reader_.named().begin()));
  // They are the same bytes, not a copy.
  memory->bytes()[4096] = 0xee;
  EXPECT_EQ(reader_.named()[0], 0xee);
  reader_.release_named(10000);
  EXPECT_FALSE(writer_.can_settle());
  reader_.release_named(40000);
  EXPECT_TRUE(writer_.can_settle());
  EXPECT_EQ(writer_.settle(), 50001U);
  EXPECT_EQ(writer_.ahead(), 0U);
}

TEST_F(ShmItems, MoreRegionsThanMayBeMappedAreForgottenOrCopied) {
  std::vector<std::shared_ptr<SharedMemory>> kept;
  for (std::size_t i = 0; i < 3 * kShmRegionsMax; ++i) {
    kept.push_back(filled_memory());
    // Half of them go again.
    if (i % 2 == 1) kept.erase(kept.begin());
    ASSERT_EQ(take({kept.back()->bytes().first(20000)}), 20000U);
    ASSERT_TRUE(reader_.next().ok());
    if (const std::size_t named = reader_.named().size(); named > 0) {
      EXPECT_EQ(reader_.named()[100], 101);
      reader_.release_named(named);
    } else {
      Bytes got(20000);
      EXPECT_EQ(reader_.get(got), 20000U);
      EXPECT_EQ(got[100], 101);
      reader_.ring().release();
    }
    static_cast<void>(writer_.settle());
    EXPECT_EQ(writer_.ahead(), 0U);
  }
}

TEST_F(ShmItems, WhatNoCorrectWriterSaysIsCorrupt) {
  EXPECT_EQ(said(3, 0, 0).code(), Code::kCorrupt);
}
TEST_F(ShmItems, AnEmptyRunIsCorrupt) { EXPECT_EQ(said(0, 0, 0).code(), Code::kCorrupt); }
TEST_F(ShmItems, ARegionThatWasNotToldIsCorrupt) {
  EXPECT_EQ(said(1, 20000, 0).code(), Code::kCorrupt);
}
TEST_F(ShmItems, ForgettingWhatWasNotToldIsCorrupt) {
  EXPECT_EQ(said(2, 0, 5).code(), Code::kCorrupt);
}
TEST_F(ShmItems, NamesBeyondARegionAreCorrupt) {
  const auto memory = filled_memory();
  ASSERT_TRUE(send_descriptor(sockets_[0].get(), Bytes{1}, memory->descriptor()));
  EXPECT_EQ(said(1, kRegionBytes, std::uint64_t{1} << 16).code(), Code::kCorrupt);
}
TEST_F(ShmItems, AnOffsetFarAwayIsCorrupt) {
  const auto memory = filled_memory();
  ASSERT_TRUE(send_descriptor(sockets_[0].get(), Bytes{1}, memory->descriptor()));
  EXPECT_EQ(said(1, 1, ~std::uint64_t{0} << 16).code(), Code::kCorrupt);
}
TEST_F(ShmItems, MemoryThatCanShrinkIsCorrupt) {
  const Socket memory(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(memory.get(), kRegionBytes), 0);
  ASSERT_TRUE(send_descriptor(sockets_[0].get(), Bytes{1}, memory.get()));
  EXPECT_EQ(said(1, 100, 0).code(), Code::kCorrupt);
}

// Looks at where bodies lie.
class InPlaceHandler final : public RecordingHandler {
 public:
  bool reads_body_once(std::uint8_t type) override { return type == kData; }
};

class ShmBodies : public ::testing::Test {
 public:
  ~ShmBodies() override {
    for (auto& transport : transports_) transport.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

 protected:
  ShmBodies() {
    std::string pattern = (std::filesystem::temp_directory_path() / "weft-shm-XXXXXX").string();
    WEFT_CHECK(::mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
    for (std::size_t i = 0; i < 2; ++i) {
      ShmOptions options;
      options.folder = folder_;
      transports_[i] =
          std::move(make_shm_transport(loop_, PeerIdentity::generate().id(), options)).value();
      transports_[i]->set_handler(handlers_[i]);
    }
    transports_[0]->connect({transports_[1]->self(), transports_[1]->endpoints()});
    WEFT_CHECK(run_until([&] { return !handlers_[0].ups.empty() && !handlers_[1].ups.empty(); }));
  }
  bool run_until(const std::function<bool()>& done) {
    return loop_.run_until(done, std::chrono::seconds(20));
  }
  Status send(std::uint8_t type, const std::shared_ptr<SharedMemory>& memory, std::size_t offset) {
    const ByteSpan bytes = ByteSpan(memory->bytes()).subspan(offset, 40000);
    return transports_[0]->send(transports_[1]->self(), Lane::kBulk,
                                {type, {7}, SharedBytes(memory, bytes)});
  }

  std::string folder_;
  std::array<InPlaceHandler, 2> handlers_;
  EventLoop loop_;
  std::array<std::unique_ptr<Transport>, 2> transports_;
};

TEST_F(ShmBodies, ArriveWholeWhetherTheyAreCopiedOrNot) {
  const auto memory = filled_memory();
  handlers_[1].lent = Bytes(40000);
  for (std::size_t i = 0; i < 30; ++i) {
    const std::uint8_t type = i % 3 == 0 ? kData + 1 : kData;
    ASSERT_TRUE(send(type, memory, 1000 * i).ok());
  }
  ASSERT_TRUE(run_until([&] { return handlers_[1].frames.size() == 30; }));
  for (std::size_t i = 0; i < 30; ++i) {
    const auto& body = handlers_[1].frames[i].body;
    ASSERT_TRUE(std::equal(body.begin(), body.end(), memory->bytes().begin() + 1000 * i)) << i;
  }
  // Only those of the type that may not change under its reader were copied.
  EXPECT_EQ(handlers_[1].bodies_in_place, 10);
  EXPECT_TRUE(run_until([&] { return memory.use_count() == 1; }));
  EXPECT_EQ(transports_[0]->queued_bytes(transports_[1]->self(), Lane::kBulk), 0U);
}

TEST_F(ShmBodies, StandUntilTheReaderHasClosedItsEnd) {
  const auto memory = filled_memory();
  ASSERT_TRUE(send(kData, memory, 0).ok());
  // Named, and the other side has not looked yet.
  ASSERT_GT(memory.use_count(), 1);
  transports_[0].reset();
  EXPECT_GT(memory.use_count(), 1);
  EXPECT_TRUE(run_until([&] { return memory.use_count() == 1; }));
}

TEST_F(ShmBodies, CancelLeavesWhatTheReaderKnowsOf) {
  const auto memory = filled_memory();
  for (std::size_t i = 0; i < 10; ++i) ASSERT_TRUE(send(kData, memory, 1000 * i).ok());
  transports_[0]->cancel_bulk(transports_[1]->self());
  ASSERT_TRUE(send(kData + 1, memory, 50).ok());
  ASSERT_TRUE(run_until([&] {
    return !handlers_[1].frames.empty() && handlers_[1].frames.back().type == kData + 1;
  }));
  for (std::size_t i = 0; i + 1 < handlers_[1].frames.size(); ++i) {
    EXPECT_EQ(handlers_[1].frames[i].body[0], memory->bytes()[1000 * i]);
  }
  EXPECT_EQ(handlers_[1].frames.back().body[0], memory->bytes()[50]);
}

}  // namespace
}  // namespace weft::shm_items_test
