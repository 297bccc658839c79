#include "engine/skip_texts.h"

#include <algorithm>
#include <array>

#include "base/status.h"

namespace skipstone::engine {
SkipTexts::SkipTexts(Engine& engine) : engine_(engine), passes_(*engine.state().passes), sequence_(passes_, engine.config()) {
  passes_.keep_all_pages();  // score() truncates to earlier blocks
  engine.state().make_pipelines({.verification = true}, {});
}

bool SkipTexts::add(const std::vector<text::Token>& prompt, std::uint32_t tokens) {
  const auto ends = [&](text::Token token) { return engine_.has_tokenizer() && engine_.tokenizer().ends_generation(token); };
  sequence_.clear();
  Text text;
  text.tokens = prompt;
  text.prompt = static_cast<std::uint32_t>(prompt.size());
  speculation::Prefilled read = sequence_.prefill(prompt, true);
  text.cosine = std::move(read.attention_cosine);
  speculation::Choice next = read.first;
  speculation::Verified verified;
  while (text.rows() < tokens && next.token >= 0 && !ends(next.token)) {
    text.tokens.push_back(next.token);
    sequence_.verify(speculation::TokenTree(next.token), 0, verified);
    sequence_.commit(std::array<std::uint32_t, 1>{0});
    next = verified.choices.front();
  }
  // Full blocks only: a remainder would need its own recordings for every set.
  const std::uint32_t rows = text.rows() / block * block;
  if (rows == 0) return false;
  text.last = text.rows() > rows ? text.tokens[text.prompt + rows] : next.token;
  text.tokens.resize(text.prompt + rows);
  text.cache = std::make_unique<exec::SequenceMemory>(passes_.pages().snapshot(sequence_.committed()));
  texts_.push_back(std::move(text));
  return true;
}

std::uint32_t SkipTexts::rows() const {
  std::uint32_t rows = 0;
  for (const Text& text : texts_) rows += text.rows();
  return rows;
}

std::vector<float> SkipTexts::attention_cosine() const {
  std::vector<float> mean(engine_.config().layer_count(), 0.0f);
  for (const Text& text : texts_) {
    for (std::size_t layer = 0; layer < mean.size(); ++layer) mean[layer] += text.cosine[layer] / static_cast<float>(texts_.size());
  }
  return mean;
}

std::vector<speculation::search::Trace> SkipTexts::score(const exec::LayerPlan& set, const std::function<void()>& between) {
  std::vector<speculation::search::Trace> traces;
  std::array<speculation::Choice, block> choices;
  for (const Text& text : texts_) {
    between();
    // From the last block to the first: the keys and values that a block writes are past all positions that the next one reads.
    passes_.pages().share(*text.cache, static_cast<std::uint32_t>(text.tokens.size()));
    speculation::search::Trace trace(text.rows());
    for (std::uint32_t at = text.rows(); at >= block; at -= block) {
      const std::uint32_t first = at - block, base = text.prompt + first;
      sequence_.continue_from({{text.tokens.begin(), text.tokens.begin() + base}, base, {{0, base}}});
      sequence_.extensions().skip_sets->score(set, std::span(text.tokens).subspan(base, block), choices);
      for (std::uint32_t i = 0; i < block; ++i) {
        const bool end = base + i + 1 == text.tokens.size();
        const text::Token expected = end ? text.last : text.tokens[base + i + 1];
        trace[first + i] = {choices[i].token == expected, choices[i].token < 0 ? 0.0f : choices[i].probability};
      }
    }
    traces.push_back(std::move(trace));
  }
  return traces;
}

}  // namespace skipstone::engine
