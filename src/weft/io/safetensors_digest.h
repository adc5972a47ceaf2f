// Digests in a safetensors file, by which a reader detects that it was altered or damaged.
//
//   metadata "header_sha256"  -> SHA-256, hexadecimal, of everything before the data (the length
//                                and the header), with the 64 digits of this value taken as '0'
//   metadata "xxh3_128/NAME"  -> XXH3-128, hexadecimal, of the values of the tensor NAME
//
// Other readers of the format treat both as texts and load the file like any other. They are not a
// signature: somebody who alters a file on purpose can write new ones. Threads: pure functions.
// Fails: kCorrupt "NAME: expected the digest X, got Y".
#pragma once

#include <span>
#include <string>

#include "weft/base/status.h"
#include "weft/io/safetensors.h"

namespace weft {

// Adds the digest of each tensor, and a field of 64 zeros for that of the header.
void add_digests(std::span<const SafetensorsTensor> tensors, SafetensorsMetadata& metadata);
// Writes the digest of the header into that field; `bytes` begin with the output of
// safetensors_header() for this metadata. REQUIRES: the field exists.
void seal_header(MutableByteSpan bytes);

// True if the metadata of a file contain digests.
bool has_digests(const SafetensorsMetadata& metadata);
// Checks the header's digest, and that each tensor has one; `view` was parsed from `bytes`.
Status check_header_digest(ByteSpan bytes, const SafetensorsView& view);
// Checks the digests of all tensors.
Status check_tensor_digests(const SafetensorsView& view);
// Checks both for a file that has digests; ok for any other.
Status check_digests(ByteSpan bytes, const SafetensorsView& view);

}  // namespace weft
