#include "weft/base/shared_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace weft::shared_memory_test {
namespace {

constexpr std::size_t kBytes = 64 * 1024;

TEST(SharedMemory, IsFoundByAnyOfItsBytes) {
  const auto first = SharedMemory::make(kBytes);
  const auto second = SharedMemory::make(kBytes);
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  const ByteSpan all = first->bytes();
  EXPECT_EQ(SharedMemory::find(all), first);
  EXPECT_EQ(SharedMemory::find(all.subspan(100, 7)), first);
  EXPECT_EQ(SharedMemory::find(all.subspan(kBytes - 1)), first);
  EXPECT_EQ(SharedMemory::find(second->bytes().first(1)), second);
}

TEST(SharedMemory, OtherBytesAreNotInIt) {
  const Bytes elsewhere(100);
  const auto memory = SharedMemory::make(kBytes);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(SharedMemory::find(elsewhere), nullptr);
  EXPECT_EQ(SharedMemory::find({memory->bytes().data() + kBytes - 1, 2}), nullptr);
}

TEST(SharedMemory, IsForgottenWithItsOwner) {
  auto memory = SharedMemory::make(kBytes);
  ASSERT_NE(memory, nullptr);
  const ByteSpan bytes = memory->bytes();
  memory.reset();
  EXPECT_EQ(SharedMemory::find(bytes), nullptr);
}

TEST(SharedMemory, OthersMayReadItAndNotWrite) {
  const auto memory = SharedMemory::make(kBytes);
  ASSERT_NE(memory, nullptr);
  const int descriptor = memory->descriptor();
  void* writing = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  EXPECT_EQ(writing, MAP_FAILED);
  void* reading = ::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, descriptor, 0);
  ASSERT_NE(reading, MAP_FAILED);
  memory->bytes()[77] = 5;
  EXPECT_EQ(static_cast<const std::uint8_t*>(reading)[77], 5);
  ::munmap(reading, kBytes);
}

}  // namespace
}  // namespace weft::shared_memory_test
