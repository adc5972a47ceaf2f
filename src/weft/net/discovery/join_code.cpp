#include "weft/net/join_code.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "weft/base/check.h"

namespace weft {

namespace {

constexpr std::string_view kSymbols = "0123456789abcdefghjkmnpqrstvwxyz";
constexpr std::size_t kCodeSymbols = 18;
constexpr std::size_t kCodeGroup = 6;
// What a person may have typed as a code; a ticket has many more.
constexpr std::size_t kCodeLike[] = {12, 24};
constexpr int kSlowRounds = 1 << 17;

// In the field of 32 elements, modulo x^5 + x^2 + 1, where the powers of x are all of them.
std::uint8_t times_x(std::uint8_t value) {
  const unsigned doubled = value * 2U;
  return static_cast<std::uint8_t>(doubled < 32 ? doubled : doubled ^ 0x25U);
}

// Each symbol counts by another power of x, so that exchanged ones do not cancel out.
std::uint8_t check_symbol(const JoinCode& code) {
  std::uint8_t sum = 0;
  for (const std::uint8_t symbol : code.symbols) sum = times_x(sum ^ symbol);
  return sum;
}

char lower(char letter) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
}

bool is_code_letter(char letter) {
  const char small = lower(letter);
  return (small >= 'a' && small <= 'z') || (small >= '0' && small <= '9');
}

// The letters and digits of `text` after the words that people paste along.
std::string code_letters(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    const bool blank = std::isspace(static_cast<unsigned char>(letter)) != 0;
    out += blank ? ' ' : lower(letter);
  }
  constexpr std::string_view kCommand = "join ";
  const std::size_t command = out.rfind(kCommand);
  if (command != std::string::npos) out.erase(0, command + kCommand.size());
  constexpr std::string_view kAround = " -\"'`<>.";
  std::erase_if(out, [&](char c) { return kAround.find(c) != std::string_view::npos; });
  return out;
}

int symbol_of(char letter) {
  if (letter == 'i' || letter == 'l') letter = '1';
  if (letter == 'o') letter = '0';
  const std::size_t at = kSymbols.find(letter);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

Hash256 slow_hash(ByteSpan secret, std::string_view purpose, ByteSpan about) {
  Bytes salt = Bytes(purpose.begin(), purpose.end());
  salt.insert(salt.end(), about.begin(), about.end());
  Hash256 out{};
  const int good =
      PKCS5_PBKDF2_HMAC(reinterpret_cast<const char*>(secret.data()),
                        static_cast<int>(secret.size()), salt.data(), static_cast<int>(salt.size()),
                        kSlowRounds, EVP_sha256(), static_cast<int>(out.size()), out.data());
  WEFT_CHECK(good == 1);
  return out;
}

}  // namespace

std::string format_join_code(const JoinCode& code) {
  std::string out;
  const auto add = [&](std::uint8_t symbol) {
    if (out.size() % (kCodeGroup + 1) == kCodeGroup) out += '-';
    out += kSymbols[symbol];
  };
  for (const std::uint8_t symbol : code.symbols) add(symbol);
  add(check_symbol(code));
  return out;
}

bool looks_like_join_code(std::string_view text) {
  const std::string letters = code_letters(text);
  if (letters.size() < kCodeLike[0] || letters.size() > kCodeLike[1]) return false;
  // A ticket that was cut: no code is issued that begins so.
  return !letters.starts_with("weft") &&
         std::all_of(letters.begin(), letters.end(), is_code_letter);
}

Result<JoinCode> parse_join_code(std::string_view text) {
  const std::string letters = code_letters(text);
  if (letters.size() != kCodeSymbols) {
    return invalid_argument(
        fmt::format("code: expected {} letters and digits, as in k7q2m4-xd9fhj-2wpz8y, got {}",
                    kCodeSymbols, letters.size()));
  }
  std::vector<std::uint8_t> values;
  for (const char letter : letters) {
    const int value = symbol_of(letter);
    if (value < 0) {
      return invalid_argument(
          fmt::format("code: no code has the character '{}'; read it again",
                      is_code_letter(letter) ? std::string(1, letter) : std::string("?")));
    }
    values.push_back(static_cast<std::uint8_t>(value));
  }
  JoinCode code;
  std::copy_n(values.begin(), code.symbols.size(), code.symbols.begin());
  if (check_symbol(code) != values.back()) {
    return invalid_argument(
        "code: a character is wrong or two are exchanged; read it again, letter by letter");
  }
  return code;
}

JoinCode join_code_of(const PublicKey& issuer, const Hash256& salt) {
  const Hash256 hash = slow_hash(salt, "weft join code of ", issuer);
  JoinCode code;
  for (std::size_t i = 0; i < code.symbols.size(); ++i) {
    // Bits 5 i to 5 i + 4, the first of a byte being its highest.
    const std::size_t bit = 5 * i;
    const unsigned pair = hash[bit / 8] * 256U + hash[bit / 8 + 1];
    code.symbols[i] = static_cast<std::uint8_t>(pair >> (11 - bit % 8) & 31U);
  }
  return code;
}

Hash256 join_code_key(const JoinCode& code) {
  return slow_hash(code.symbols, "weft join code key", {});
}

IssuedJoinCode issue_join_code(const PublicKey& issuer) {
  IssuedJoinCode issued;
  do {
    random_bytes(issued.salt);
    issued.code = join_code_of(issuer, issued.salt);
    // What begins so is taken for a ticket.
  } while (format_join_code(issued.code).starts_with("weft"));
  issued.key = join_code_key(issued.code);
  return issued;
}

}  // namespace weft
