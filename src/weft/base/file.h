// Whole files: read with a bound, or replaced so that a crash leaves the old or the new one.
//
// A file that a person named is written by write_output_file(): it writes into anything that is not
// a regular file, and replaces regular files in the same way.
//
// Threads: any; two writers of one path replace each other's file, and it is never mixed.
// Fails: kUnavailable if the system refuses (the message has its reason), kCorrupt if a file is
// larger than the caller allows.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "weft/base/bytes.h"
#include "weft/base/status.h"

namespace weft {

// The kind of file at `path`, following links; also false if that cannot be determined.
bool is_file(const std::string& path);
bool is_folder(const std::string& path);

// The bytes of the regular file `path`, at most `bytes_max`.
Result<Bytes> read_file(const std::string& path, std::size_t bytes_max);

struct WriteFileOptions {
  unsigned mode = 0644;  // permission bits; 0600 for secrets
  bool durable = true;   // synced to the disk; a crash of the process alone harms neither
};

// Writes `parts` one after another into a temporary file beside `path`, syncs it to the disk and
// renames it to `path`. The temporary file is always a new one: a link planted there is not
// followed. Missing parent folders are an error.
Status write_file_atomically(const std::string& path, std::span<const ByteSpan> parts,
                             WriteFileOptions options = {});
Status write_file_atomically(const std::string& path, ByteSpan bytes,
                             WriteFileOptions options = {});

// As write_file_atomically(), for a path that a person gave: links are followed, a device, a queue
// or an open descriptor (/dev/stdout) is written to and not replaced, and the error names a missing
// folder.
Status write_output_file(const std::string& path, std::span<const ByteSpan> parts);
Status write_output_file(const std::string& path, ByteSpan bytes);

// Whether write_output_file() can succeed, to be called before hours of work: kUnavailable if the
// folder of `path` does not exist or `path` is a folder, kInvalidArgument if `path` is a regular
// file that may not be replaced.
Status check_output_file(const std::string& path, bool may_replace);

// Whether both exist and are one file, even under different names.
bool is_same_file(const std::string& one, const std::string& other);

}  // namespace weft
