// Decompressor: an owner for libdeflate's decompressor, which gzip and .npz files are read with.
//
// Threads: one owner.
#pragma once

#include <memory>

#include <libdeflate.h>

namespace weft {

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* decompressor) const {
    libdeflate_free_decompressor(decompressor);
  }
};
using Decompressor = std::unique_ptr<libdeflate_decompressor, FreeDecompressor>;

}  // namespace weft
