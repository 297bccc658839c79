#include "prompt_tokens.h"

#include <fmt/format.h>

#include <string_view>

#include "base/escape.h"
#include "base/number.h"
#include "exit_code.h"
#include "prompt.h"
#include "session_options.h"

namespace cli {
namespace {

constexpr std::string_view separators = ", \t\r\n";

bool begins_a_list(std::string_view text) {
  const std::size_t first = text.find_first_not_of(separators);
  if (first == text.npos) return true;
  const auto digit = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  return text.find_first_not_of("0123456789-, \t\r\n") == text.npos && (digit(first) || digit(first + 1));
}

}  // namespace

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

// Uses a separate session that is destroyed before the generating one is created, so --logits does not affect the generation.
std::vector<float> first_logits(const skipstone::Engine& engine, const std::vector<skipstone_token>& tokens, std::size_t count) {
  if (const std::uint32_t vocabulary = engine.info().vocabulary; count > vocabulary) {
    fail(ExitCode::usage, "--logits {} are more than the model's vocabulary has tokens ({})", count, vocabulary);
  }
  skipstone_session_params params = skipstone::session_params();
  params.draft = "none";
  skipstone::Session session = make_session(engine, params);
  session.prefill(tokens);
  std::vector<float> logits = session.logits();
  logits.resize(count);
  return logits;
}

}  // namespace cli
