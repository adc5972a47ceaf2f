// A byte stream through shared memory: two rings in a memfd that the dialler makes and sends over a
// unix socket. The socket then only carries bells and the descriptors of further memory, and closes
// when a side ends. shm_items.h defines the content of the rings.
//
//   offer = magic u32, ring_bytes u32, with the memfd    (dialler, once)
//   taken = one byte                                      (acceptor, once)
//   bell  = one byte                                      (either, whenever the other sleeps)
//   region = one byte, with its memfd                     (either, before it is named)
#pragma once

#include <memory>

#include "weft/net/stream/byte_stream.h"

namespace weft {

// Both borrow `socket`. `ring_bytes` is the size of one direction: a multiple of 4096, at most
// kShmRingBytesMax.
inline constexpr std::size_t kShmRingBytesMax = std::size_t{64} << 20;
std::unique_ptr<ByteStream> dial_shm_stream(int socket, std::size_t ring_bytes);
std::unique_ptr<ByteStream> accept_shm_stream(int socket);

}  // namespace weft
