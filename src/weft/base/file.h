// Whole files: read with a bound, or replaced so that a crash leaves the old or the new one.
//
// A file that a person named is written by write_output_file(): into what stands there where that
// is no regular file, else replaced in the same way.
//
// Threads: any; two writers of one path replace each other's file, neither tears it.
// Fails: kUnavailable where the system refuses (the message has its reason), kCorrupt where a
// file is larger than the caller allows.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "weft/base/bytes.h"
#include "weft/base/status.h"

namespace weft {

// What stands at `path`, links followed; false as well where that cannot be found out.
bool is_file(const std::string& path);
bool is_folder(const std::string& path);

// The bytes of the regular file `path`, at most `bytes_max`.
Result<Bytes> read_file(const std::string& path, std::size_t bytes_max);

struct WriteFileOptions {
  unsigned mode = 0644;  // permission bits; 0600 for secrets
  bool durable = true;   // synced to the disk; a crash of the process alone harms neither
};

// Writes `parts` one after another into a temporary file beside `path`, syncs it to the disk and
// renames it to `path`. The temporary file is always a new one: no link that somebody has put there
// is followed. Missing parent folders are an error.
Status write_file_atomically(const std::string& path, std::span<const ByteSpan> parts,
                             WriteFileOptions options = {});
Status write_file_atomically(const std::string& path, ByteSpan bytes,
                             WriteFileOptions options = {});

// As write_file_atomically(), for a path that a person gave: links are followed, a device, a queue
// or an open descriptor (/dev/stdout) is written to and not replaced, and a folder that is not
// there is named.
Status write_output_file(const std::string& path, std::span<const ByteSpan> parts);
Status write_output_file(const std::string& path, ByteSpan bytes);

// Whether write_output_file() has a chance, to be asked before hours of work: kUnavailable where
// the folder of `path` is not there or `path` is one, kInvalidArgument where a regular file stands
// there that may not be replaced.
Status check_output_file(const std::string& path, bool may_replace);

// Whether both are there and are one file, whatever their names.
bool is_same_file(const std::string& one, const std::string& other);

}  // namespace weft
