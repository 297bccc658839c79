#include "engine/prompt_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace skipstone::engine {

using speculation::Choice;
using speculation::Token;
using speculation::TokenHistory;

std::optional<Choice> PromptReader::read(std::span<const Token> tokens, exec::Cosines cosines) {
  parts_.passes.clear_cosines();
  cached_ = take_cached(tokens);
  tokens = tokens.subspan(cached_);
  const std::size_t own = std::min<std::size_t>(std::exchange(own_tokens_, 0), tokens.size());
  const std::uint32_t last_row = read_own(tokens.first(own), cosines, own == tokens.size());
  if (!read_prompt(tokens.subspan(own), cosines, parts_.verifier.output(), interrupted_)) return std::nullopt;
  return parts_.verifier.verify_end(parts_.text, last_row, parts_.results);
}

std::uint32_t PromptReader::read_own(std::span<const Token> tokens, exec::Cosines cosines, bool all) {
  std::uint32_t last_row = 0;
  while (!tokens.empty()) {
    const std::span<const Token> rows = tokens.first(std::min<std::size_t>(tokens.size(), STEP_VERIFY_ROWS));
    tokens = tokens.subspan(rows.size());
    exec::PassSpec spec = parts_.full_pass(rows.size());
    spec.cosines = cosines;
    if (!all || !tokens.empty()) spec.output = exec::Output::none;
    parts_.passes.run(spec, {.tokens = rows, .base = parts_.committed()});
    for (const Token token : rows) parts_.text.commit(token);
    if (all) last_row = static_cast<std::uint32_t>(rows.size()) - 1;
  }
  return last_row;
}

std::uint32_t PromptReader::take_cached(std::span<const Token> tokens) {
  if (prefixes_ == nullptr || parts_.committed() > 0) return 0;
  parts_.passes.pages().rollback(0);
  const std::uint32_t cached = prefixes_->find(tokens, parts_.passes.pages());
  if (cached > 0) parts_.text.commit_prompt(tokens.first(cached));
  return cached;
}

// A prompt's keys and values depend on its tokens alone if no other tokens precede it. Called after each pass, because the next one may
// free pages of sliding-window layers.
void PromptReader::keep_prefix() {
  const std::vector<TokenHistory::Prompt>& prompts = parts_.text.prompts();
  if (prefixes_ == nullptr || prompts.size() != 1 || prompts[0].begin != 0) return;
  prefixes_->keep(parts_.text.committed().first(prompts[0].end), parts_.passes.pages());
}

void PromptReader::keep_continuation() {
  if (prefixes_ == nullptr || prefixes_->mode() != PrefixMode::fast || parts_.exits.left_layers_out()) return;
  prefixes_->keep(parts_.text.committed(), parts_.passes.pages());
}

bool PromptReader::read_prompt(std::span<const Token> tokens, exec::Cosines cosines, exec::Output output,
                               const std::function<bool()>& interrupted) {
  while (!tokens.empty()) {
    if (interrupted && interrupted()) return false;
    const std::span<const Token> chunk = tokens.first(next_chunk(tokens.size()));
    tokens = tokens.subspan(chunk.size());
    exec::PassSpec spec = parts_.prompt_pass(chunk.size());
    spec.output = tokens.empty() ? output : exec::Output::none;
    spec.cosines = cosines;
    parts_.passes.run(spec, {.tokens = chunk, .base = parts_.committed()});
    parts_.text.commit_prompt(chunk);
    keep_prefix();
  }
  return true;
}

// Each part is read by the kernels that read it before, which give the same keys and values. A cached prefix of the first prompt has them.
void PromptReader::read_again() {
  parts_.exits.reset(parts_.exits.left_layers_out());
  const std::vector<TokenHistory::Prompt> prompts = parts_.text.prompts();
  const std::size_t end = parts_.committed();
  parts_.text.rollback(end);
  parts_.passes.pages().rollback(0);
  const std::span<const Token> all = std::span(parts_.text.tokens()).first(end);
  std::size_t done = 0;
  const auto next = [&](std::size_t until) {
    const std::span<const Token> part = all.subspan(done, std::max(done, until) - done);
    done += part.size();
    return part;
  };
  if (prefixes_ != nullptr && !prompts.empty() && prompts[0].begin == 0) {
    done = prefixes_->find(all.first(prompts[0].end), parts_.passes.pages());
    if (done > 0) parts_.text.commit_prompt(all.first(done));
  }
  for (const TokenHistory::Prompt& prompt : prompts) {
    read_own(next(prompt.begin), exec::Cosines::none, false);
    read_prompt(next(prompt.end), exec::Cosines::none, exec::Output::none, {});
  }
  read_own(next(end), exec::Cosines::none, false);
}

}  // namespace skipstone::engine
