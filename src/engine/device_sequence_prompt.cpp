// Reading texts: prompts by prompt kernels, own tokens by decoding kernels, cached prefixes not at all.
#include <utility>

#include "engine/device_sequence.h"
#include "engine/prompt_chunks.h"

namespace skipstone::engine {

using speculation::Choice;
using speculation::Token;

exec::PassSpec DeviceSequence::prompt_pass(std::size_t rows) const {
  exec::PassSpec spec;
  spec.layers = exec::LayerPlan::full(config_.layer_count());
  spec.prompt = true;
  spec.bucket = kernels::prompt_bucket_for(static_cast<std::uint32_t>(rows));
  spec.output = chooser_.output();
  spec.last_row_only = true;
  return spec;
}

std::optional<Choice> DeviceSequence::prefill(std::span<const Token> tokens, exec::Cosines cosines) {
  exits_.fill(text_);
  pipelined_.clear();
  end_round();
  passes_.clear_cosines();
  found_ = take_known(tokens);
  tokens = tokens.subspan(found_);
  const std::size_t own = std::min<std::size_t>(std::exchange(own_tokens_, 0), tokens.size());
  const std::uint32_t last_row = read_own(tokens.first(own), cosines, own == tokens.size());
  if (!read_prompt(tokens.subspan(own), cosines, chooser_.output(), interrupted_)) return std::nullopt;
  chooser_.start(text_.tokens());
  return chooser_.verified(passes_, last_row, text_.size() - 1);
}

std::uint32_t DeviceSequence::read_own(std::span<const Token> tokens, exec::Cosines cosines, bool all) {
  std::uint32_t last_row = 0;
  while (!tokens.empty()) {
    const std::span<const Token> rows = tokens.first(std::min<std::size_t>(tokens.size(), STEP_VERIFY_ROWS));
    tokens = tokens.subspan(rows.size());
    exec::PassSpec spec = pass(exec::LayerPlan::full(config_.layer_count()), rows.size());
    spec.cosines = cosines;
    if (!all || !tokens.empty()) spec.output = exec::Output::none;
    passes_.run(spec, {.tokens = rows, .base = committed()});
    for (const Token token : rows) text_.append(token);
    if (all) last_row = static_cast<std::uint32_t>(rows.size()) - 1;
  }
  return last_row;
}

std::uint32_t DeviceSequence::take_known(std::span<const Token> tokens) {
  if (prefixes_ == nullptr || committed() > 0) return 0;
  passes_.truncate(0);
  const std::uint32_t known = prefixes_->find(tokens, passes_.table());
  if (known > 0) text_.append_prompt(tokens.first(known));
  return known;
}

// A prompt's keys and values depend on its tokens alone if no other tokens precede it. Called after each pass, because the next one may
// free pages of sliding-window layers.
void DeviceSequence::keep_beginning() {
  if (prefixes_ == nullptr || text_.prompts().size() != 1 || text_.prompts()[0].begin != 0) return;
  prefixes_->keep(text_.tokens().first(text_.prompts()[0].end), passes_.pages());
}

void DeviceSequence::keep_continuation() {
  if (prefixes_ == nullptr || prefixes_->mode() != PrefixMode::fast || exits_.left_layers_out()) return;
  prefixes_->keep(text_.tokens(), passes_.pages());
}

speculation::Prefilled DeviceSequence::prefill(std::span<const Token> tokens, bool attention_cosine) {
  const auto first = prefill(tokens, attention_cosine ? exec::Cosines::attention : exec::Cosines::none);
  speculation::Prefilled result{.first = first.value_or(Choice{}), .attention_cosine = {}, .found = found_, .interrupted = !first};
  if (first && attention_cosine) result.attention_cosine = mean_attention_cosine(tokens.size() - found_);
  return result;
}

bool DeviceSequence::read_prompt(std::span<const Token> tokens, exec::Cosines cosines, exec::Output output,
                                 const std::function<bool()>& interrupted) {
  while (!tokens.empty()) {
    if (interrupted && interrupted()) return false;
    const std::span<const Token> chunk = tokens.first(next_chunk(tokens.size()));
    tokens = tokens.subspan(chunk.size());
    exec::PassSpec spec = prompt_pass(chunk.size());
    spec.output = tokens.empty() ? output : exec::Output::none;
    spec.cosines = cosines;
    passes_.run(spec, {.tokens = chunk, .base = committed()});
    text_.append_prompt(chunk);
    keep_beginning();
  }
  return true;
}

// Each part is read by the kernels that read it before, which give the same keys and values.
void DeviceSequence::read_again() {
  exits_.reset(exits_.left_layers_out());
  const CommittedText text = std::exchange(text_, {});
  passes_.truncate(0);
  std::span<const Token> rest = text.tokens();
  const auto take = [&](std::size_t end) {
    const std::size_t count = end - (text.size() - rest.size());
    return std::exchange(rest, rest.subspan(count)).first(count);
  };
  for (const CommittedText::Prompt& prompt : text.prompts()) {
    read_own(take(prompt.begin), exec::Cosines::none, false);
    read_prompt(take(prompt.end), exec::Cosines::none, exec::Output::none, {});
  }
  read_own(rest, exec::Cosines::none, false);
}

}  // namespace skipstone::engine
