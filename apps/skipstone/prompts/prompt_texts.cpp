// Single prompts: texts and token ids.
#include <fmt/format.h>

#include <array>
#include <string_view>
#include <system_error>

#include "base/escape.h"
#include "base/number.h"
#include "base/platform/console.h"
#include "base/platform/files.h"
#include "prompts/prompts.h"
#include "terminal/exit_code.h"
#include "terminal/interrupt.h"

namespace cli {
namespace {

constexpr std::size_t most_bytes = std::size_t{64} << 20U;

constexpr std::string_view separators = ", \t\r\n";

bool begins_a_list(std::string_view text) {
  const std::size_t first = text.find_first_not_of(separators);
  if (first == text.npos) return true;
  const auto digit = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  return text.find_first_not_of("0123456789-, \t\r\n") == text.npos && (digit(first) || digit(first + 1));
}

}  // namespace

std::string read_text(const std::string& file, const std::string& what) {
  namespace platform = skipstone::platform;
  const std::string name = file == "-" ? "standard input" : "'" + file + "'";
  std::error_code error;
  const auto refuse = [&] { fail(ExitCode::usage, "{} in {} cannot be read: {}", what, name, error.message()); };
  platform::OpenFile opened;
  if (file != "-") opened = platform::open_stream(file, error);
  if (error) refuse();
  const std::intptr_t stream = file == "-" ? platform::handle_of(platform::Stream::input) : opened.handle();
  std::string text;
  std::array<char, 65536> buffer{};
  while (true) {
    const std::size_t got = platform::read_next(stream, buffer, error);
    if (interrupt::requested()) fail(ExitCode::interrupted, "interrupted while {} was being read", what);
    if (error == std::errc::interrupted) continue;
    if (error) refuse();
    if (got == 0) break;
    text.append(buffer.data(), got);
    if (text.size() > most_bytes) {
      fail(ExitCode::usage, "{} in {} is larger than {} MiB; no context holds it", what, name, most_bytes >> 20U);
    }
  }
  return text;
}

std::string read_prompt(const std::string& file) {
  std::string text = read_text(file, "the prompt");
  if (!text.empty() && text.back() == '\n') text.pop_back();
  if (!text.empty() && text.back() == '\r') text.pop_back();
  return text;
}

std::vector<skipstone_token> read_prompt_tokens(const std::string& given) {
  const bool list = begins_a_list(given);
  const std::string text = list ? given : read_text(given, "the list of token ids");
  const std::string place = list ? "--prompt-tokens" : given == "-" ? "standard input" : "'" + given + "'";
  std::vector<skipstone_token> tokens;
  for (std::string_view rest = text; true;) {
    const std::size_t begin = rest.find_first_not_of(separators);
    if (begin == rest.npos) break;
    rest.remove_prefix(begin);
    const std::string_view word = rest.substr(0, rest.find_first_of(separators));
    rest.remove_prefix(word.size());
    const auto token = skipstone::parse_number<skipstone_token>(word);
    if (!token || *token < 0) {
      constexpr std::size_t most = 40;
      fail(ExitCode::usage, "'{}' in {} is no token id; ids are whole numbers from 0 with commas or blanks between them",
           skipstone::shortened(word, most), place);
    }
    tokens.push_back(*token);
  }
  if (tokens.empty()) fail(ExitCode::usage, "there is no token id in {}; the model needs at least one", place);
  return tokens;
}

void check_prompt_tokens(const std::vector<skipstone_token>& tokens, const skipstone::Engine& engine) {
  const std::uint32_t vocabulary = engine.info().vocabulary;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (static_cast<std::uint32_t>(tokens[i]) < vocabulary) continue;
    fail(ExitCode::usage, "token {} of the prompt is {}, but the model's vocabulary has the ids 0 to {}", i + 1, tokens[i], vocabulary - 1);
  }
}

}  // namespace cli
