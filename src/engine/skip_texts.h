// Texts that skip sets are scored on: the model has generated them, with their keys and values, so one pass over a block of rows gives the
// drafts of a round that begins there.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/device_sequence.h"
#include "engine/engine_state.h"
#include "exec/executor.h"
#include "speculation/search/round_model.h"

namespace skipstone::engine {

class SkipTexts {
 public:
  /// Rows of a block. In a block's row i the K and V of i tokens before it are the drafts' own, as in the i-th draft of a round; rounds are
  /// seldom longer than this, and longer blocks would underestimate agreement.
  static constexpr std::uint32_t block = 8;

  explicit SkipTexts(Engine& engine);

  /// Continues `prompt` greedily by up to `tokens`; false if the text ends before the first full block.
  bool add(const std::vector<text::Token>& prompt, std::uint32_t tokens);

  std::size_t size() const { return texts_.size(); }
  std::uint32_t rows() const;  ///< number of rows that score() evaluates
  /// Mean over the prompts, one per layer.
  std::vector<float> attention_cosine() const;

  /// The drafts of `set` at every position of every text. `between` is called before each text; throwing from it ends the scoring.
  std::vector<speculation::search::Trace> score(const exec::LayerPlan& set, const std::function<void()>& between);

 private:
  struct Text {
    std::vector<text::Token> tokens;  ///< prompt and continuation without its last token
    std::uint32_t prompt = 0;
    text::Token last = -1;  ///< the model's token after all of them
    std::vector<float> cosine;
    std::unique_ptr<exec::SequenceMemory> cache;
    std::uint32_t rows() const { return static_cast<std::uint32_t>(tokens.size()) - prompt; }
  };

  Engine& engine_;
  exec::Executor passes_;
  DeviceSequence sequence_;
  std::vector<Text> texts_;
};

}  // namespace skipstone::engine
