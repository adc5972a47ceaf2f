#include "weft/app/flags/parse_error.h"

#include <algorithm>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "weft/app/flags/help_page.h"
#include "weft/app/flags/usage.h"
#include "weft/base/printable.h"

namespace weft {
namespace {

// The command that `arguments` have got to, such as `weft data get`.
const CLI::App& deepest(const CLI::App& app, std::span<const std::string> arguments) {
  const CLI::App* at = &app;
  for (const std::string& argument : arguments) {
    const std::vector<const CLI::App*> commands = at->get_subcommands({});
    const auto next = std::find_if(commands.begin(), commands.end(), [&](const CLI::App* command) {
      return command->get_name() == argument;
    });
    if (next != commands.end()) at = *next;
  }
  return *at;
}

// "--engine: x not in {swarm,mpi}" and its like: the library's words, put as ours.
std::string choice_text(const std::string& text) {
  const std::size_t not_in = text.find(" not in {");
  const std::size_t colon = text.find(": ");
  if (not_in == std::string::npos || colon == std::string::npos || colon > not_in) return text;
  std::string choices = text.substr(not_in + 9);
  if (!choices.empty() && choices.back() == '}') choices.pop_back();
  std::string spaced;
  for (const char letter : choices) spaced += letter == ',' ? ", " : std::string(1, letter);
  return fmt::format("{}: expected one of {}, got \"{}\"", text.substr(0, colon), spaced,
                     text.substr(colon + 2, not_in - colon - 2));
}

// "Could not convert: --port = x".
std::string conversion_text(const std::string& text) {
  constexpr std::string_view kBegin = "Could not convert: ";
  const std::size_t equals = text.find(" = ");
  if (!text.starts_with(kBegin) || equals == std::string::npos) return text;
  return fmt::format("{}: expected a number, got \"{}\"",
                     text.substr(kBegin.size(), equals - kBegin.size()), text.substr(equals + 3));
}

std::string missing_text(const CLI::App& at, const std::string& text) {
  const std::vector<const CLI::App*> commands = at.get_subcommands({});
  if (commands.empty()) {
    constexpr std::string_view kEnd = " is required";
    const std::size_t end = text.ends_with(kEnd) ? text.size() - kEnd.size() : text.size();
    return argument_name(text.substr(0, end)) + " is missing";
  }
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  return fmt::format("expected a command: {}", fmt::join(names, ", "));
}

// The first name in a text such as "--threads: At Most 1 required but received 2".
std::string repeated_text(const std::string& text) {
  const std::size_t colon = text.find(": At Most 1 required");
  if (colon != std::string::npos) return text.substr(0, colon) + ": expected once";
  const std::size_t wants = text.find(": 1 required ");
  if (wants != std::string::npos) return text.substr(0, wants) + ": expected a value after it";
  return text;
}

std::string reason(const CLI::App& at, const CLI::ParseError& error) {
  std::string text = error.what();
  const std::string kind = error.get_name();
  if (kind == "ValidationError") return choice_text(text);
  if (kind == "ConversionError") return conversion_text(text);
  if (kind == "RequiredError") return missing_text(at, text);
  if (kind == "ArgumentMismatch") return repeated_text(text);
  // These carry the command's name in place of their own.
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const std::size_t colon = text.find(": ");
    return fmt::format("not expected: \"{}\"",
                       colon == std::string::npos ? text : text.substr(colon + 2));
  }
  return text;
}

}  // namespace

std::string parse_error_text(const CLI::App& app, const CLI::ParseError& error,
                             std::span<const std::string> arguments) {
  const CLI::App& at = deepest(app, arguments);
  const std::string mistake = misspelt(app, arguments);
  const std::string why = mistake.empty() ? reason(at, error) : mistake;
  return fmt::format("weft: {}\n`{} --help` shows what it takes.\n", printable(why),
                     command_words(at));
}

}  // namespace weft
