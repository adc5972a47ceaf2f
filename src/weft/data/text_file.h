// Texts and files of tokens as datasets.
//
//   token file := token{..}, little-endian, 1, 2 or 4 bytes each, no header (as nanoGPT's
//   train.bin)
//
// A token file is mapped, never loaded; its tokens are checked against the vocabulary when a batch
// reads them. A text is checked to be UTF-8 when it is read. The train split of one text is its
// first nine tenths of characters, the test split the rest. Fails: kCorrupt "path: expected X, got
// Y"; kUnavailable if a file cannot be read; kInvalidArgument on options that do not fit.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"
#include "weft/data/dataset.h"
#include "weft/data/tokenizer.h"

namespace weft {

inline constexpr std::size_t kTextBytesMax = std::size_t{1} << 30U;

struct TextOptions {
  // "byte", "character", "bpe:N" (trained on the text, N tokens), or the path of a tokenizer file.
  std::string tokenizer = "character";
  std::int64_t context = 128;  // T
  // A tokenizer to use in place of `tokenizer`, such as that of a model.
  std::shared_ptr<const Tokenizer> given = nullptr;
};

// "byte", "character" and "bpe:N" need no file; the latter two derive their vocabulary from `text`.
Result<std::shared_ptr<const Tokenizer>> make_tokenizer(std::string_view name,
                                                        std::string_view text);

// True if a file of this name is read as a text: .txt, .text, .txt.gz.
bool is_text_name(std::string_view path);
// The texts of a folder, sorted by name.
Result<std::vector<std::string>> text_files(const std::string& folder);
// Reads the whole text of a file, plain or gzip; for a folder, its texts one after another, with a
// newline after each that does not end in one.
Result<std::string> read_text(const std::string& path, std::size_t bytes_max = kTextBytesMax);

// Makes one split of `text`, which must be UTF-8.
Result<Dataset> make_text_dataset(std::string name, std::string_view text, Split split,
                                  const TextOptions& options);

struct TokenFileOptions {
  std::int64_t token_bytes = 2;
  std::int64_t vocabulary = 65536;
  std::int64_t context = 128;
  std::int64_t header_bytes = 0;  // skipped
};

// Opens all tokens of `path`.
Result<Dataset> open_token_file(const std::string& path, const TokenFileOptions& options);
// Replaces `path`. Fails also: kInvalidArgument on a token that does not fit into token_bytes.
Status write_token_file(const std::string& path, std::span<const std::int32_t> tokens,
                        std::int64_t token_bytes);

}  // namespace weft
