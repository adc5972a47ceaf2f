// Digests in a safetensors file, by which a reader notices that it was altered or damaged.
//
//   metadata "header_sha256"  -> SHA-256, hexadecimal, of everything before the data (the length
//                                and the header), with the 64 digits of this value taken as '0'
//   metadata "xxh3_128/NAME"  -> XXH3-128, hexadecimal, of the values of the tensor NAME
//
// Other readers of the format take both for texts and load the file as any other. They are no
// signature: whoever alters a file on purpose can write new ones.
// Threads: pure functions. Fails: kCorrupt "NAME: expected the digest X, got Y".
#pragma once

#include <span>
#include <string>

#include "weft/base/status.h"
#include "weft/io/safetensors.h"

namespace weft {

// Adds the digest of each tensor, and room for that of the header.
void add_digests(std::span<const SafetensorsTensor> tensors, SafetensorsMetadata& metadata);
// Puts the digest of the header into that room; `bytes` begin with what safetensors_header() gave
// for this metadata. REQUIRES: the room is there.
void seal_header(MutableByteSpan bytes);

// Whether a file with this metadata says that it has digests.
bool has_digests(const SafetensorsMetadata& metadata);
// The header's, and that each tensor has one; `bytes` are those that `view` was parsed from.
Status check_header_digest(ByteSpan bytes, const SafetensorsView& view);
// Those of all tensors.
Status check_tensor_digests(const SafetensorsView& view);
// Both, of a file that has digests; ok for any other.
Status check_digests(ByteSpan bytes, const SafetensorsView& view);

}  // namespace weft
