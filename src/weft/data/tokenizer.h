// Tokenizer: converts text to numbers and back.
//
// Where it stands: text_file.h uses one to turn a text into a dataset of tokens; sampling from a
// model decodes with it. byte: 256 tokens, one for each byte value. characters: one for each
// character in the vocabulary. BPE: byte-level pairs merged by frequency (bpe_tokenizer.h).
// Threads: immutable once made; any number may use it. Fails: kInvalidArgument on text or tokens
// outside the vocabulary.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"

namespace weft {

class Tokenizer {
 public:
  Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  virtual ~Tokenizer() = default;

  // The number of tokens; every token is below it.
  virtual std::int64_t vocabulary() const = 0;
  virtual Result<std::vector<std::int32_t>> encode(std::string_view text) const = 0;
  // Returns the bytes of the tokens, one after another; a character may need several tokens.
  virtual Result<std::string> decode(std::span<const std::int32_t> tokens) const = 0;
  // A text from which load_tokenizer() makes the same tokenizer.
  virtual std::string file_text() const = 0;
};

std::unique_ptr<Tokenizer> make_byte_tokenizer();

// Makes a tokenizer of the characters in `text`, in the order of their code points. Encoding
// refuses others. Fails: kInvalidArgument if the text is empty or not UTF-8.
Result<std::unique_ptr<Tokenizer>> make_character_tokenizer(std::string_view text);

// Loads a file in the form of file_text(), recognised by its contents: one of our two formats, or a
// Hugging Face tokenizer.json with a byte-level BPE model.
//
//   bytes      := "weft-bytes 1\n"
//   characters := "weft-characters 1\n" ("U+" hexadecimal "\n"){1..}, ascending
//
// Fails: kCorrupt "path: expected X, got Y"; kUnavailable where the file cannot be read.
Result<std::unique_ptr<Tokenizer>> load_tokenizer(const std::string& path);
Result<std::unique_ptr<Tokenizer>> parse_tokenizer(std::string_view text);

}  // namespace weft
