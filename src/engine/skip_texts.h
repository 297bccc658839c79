// What skip sets are scored on: texts that the model has written itself, with its keys and values, so that one pass over a block of rows
// says what a round of drafts that begins there would be.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/device_sequence.h"
#include "engine/engine_state.h"
#include "exec/executor.h"
#include "spec/search/round_model.h"

namespace skipstone::engine {

class SkipTexts {
 public:
  /// Rows of a block. In a block's row i the K and V of i tokens before it are the drafts' own, as in the i-th draft of a round; rounds are
  /// seldom longer than this, and longer blocks would make agreement look worse than it is.
  static constexpr std::uint32_t block = 8;

  explicit SkipTexts(Engine& engine);

  /// Continues `prompt` greedily by up to `tokens`; false where the text ends before there is a block.
  bool add(const std::vector<text::Token>& prompt, std::uint32_t tokens);

  std::size_t size() const { return texts_.size(); }
  std::uint32_t rows() const;  ///< that score() looks at
  /// Mean over the prompts, one per layer.
  std::vector<float> attention_cosine() const;

  /// Drafts of `set` at every place of every text. `between` is called before each text; throwing from it ends the scoring.
  std::vector<spec::search::Trace> score(const exec::LayerPlan& set, const std::function<void()>& between);

 private:
  struct Text {
    std::vector<text::Token> tokens;  ///< prompt and continuation, without the last token of it
    std::uint32_t prompt = 0;
    text::Token last = -1;  ///< what the model has after all of them
    std::vector<float> cosine;
    std::unique_ptr<exec::SequencePages> cache;
    std::uint32_t rows() const { return static_cast<std::uint32_t>(tokens.size()) - prompt; }
  };

  Engine& engine_;
  exec::Executor passes_;
  DeviceSequence sequence_;
  std::vector<Text> texts_;
};

}  // namespace skipstone::engine
