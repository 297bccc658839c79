// A whole model in scalar code, with the semantics of the device's passes: the reference for tokens, logits and cosines.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/kv_format.h"
#include "exec/layer_plan.h"
#include "gguf/gguf.h"
#include "model/config.h"

namespace skipstone::ref {

/// What a recurrent layer keeps of a text: of each position the inputs of convolution and state, and the state after `position` rows, which
/// rows before it take up again from the beginning. Short convolutions have no state.
struct RecurrentMemory {
  std::vector<float> records, state;
  std::uint32_t position = 0;
};

/// One text's keys and values, by layer and after the layers by head for multi-token prediction: row p holds Attention::kv_width() floats
/// for position p. Copying it forks the text.
struct Sequence {
  std::vector<std::vector<float>> keys, values;
  std::vector<RecurrentMemory> recurrent;
};

/// The inputs that a layer's matrices are multiplied with: that of Q, K and V; the attention's output matrix; gate and up; down.
enum class MatrixInput { attention, attention_output, ffn, ffn_down };

struct Options {
  bool all_logits = true;         ///< false: logits of the last row alone
  std::span<const float> hidden;  ///< the residual stream to start from, rows * width; empty: the tokens' embeddings
  /// Called with the input of every product of a layer that runs: `rows` rows of x.
  std::function<void(std::uint32_t layer, MatrixInput input, std::span<const float> x, std::size_t rows)> observe{};
};

struct Result {
  std::vector<std::vector<float>> logits;  ///< [row][vocabulary]; one item where all_logits is false
  /// [layer][row], residual stream before and after the sublayer; empty for layers where it is skipped.
  std::vector<std::vector<float>> attention_cosine, mlp_cosine;
  std::vector<std::vector<float>> hidden;  ///< [row][width], the residual stream after the last layer that ran, before the final norm
};

class Model {
 public:
  /// Expands all weights to floats; `file` may be closed afterwards. Keys and values are rounded as they are stored,
  /// as devices with such a cache do (round_kv). Throws as Config::from and find_tensors, and invalid_argument for q8_0 with heads
  /// that are no whole blocks. `context`: of the device's sequence, where it chooses rotary factors.
  Model(const gguf::File& file, KvFormat kv_format, std::uint32_t context = 0);
  Model(Model&&) noexcept;
  ~Model();

  const model::Config& config() const;
  Sequence new_sequence() const;

  /// Runs `tokens` at positions first_position, first_position + 1, ... In each layer whose attention runs, every row stores its K and V
  /// (overwriting older ones) and attends to positions up to its own; a skipped sublayer leaves residual stream and cache as they are.
  /// Final norm and LM head follow the last layer. A row's result does not depend on the rows after it or on how a text is split into
  /// calls. Throws invalid_argument: no tokens, a token outside the vocabulary, a plan for more layers than there are, `hidden` of the
  /// wrong size, or a first position beyond the rows that a layer that runs has stored.
  Result forward(Sequence& sequence, std::span<const std::int32_t> tokens, std::uint32_t first_position, const exec::LayerPlan& plan,
                 const Options& options = {}) const;

  /// Rows of Result::hidden one after another, through the final norm.
  std::vector<float> normalised(std::span<const float> hidden) const;
  /// Runs a head for multi-token prediction, whose keys and values are its own. `hidden`: of each of the positions from first_position on
  /// the model's normalised state, or, where drafts follow drafts, that of the result here; `tokens`: those that come after these
  /// positions. The logits are those of the tokens after them; Result::hidden is normalised by the head. Throws invalid_argument as
  /// forward(), and for a head that the file does not have.
  Result predict(Sequence& sequence, std::span<const std::int32_t> tokens, std::uint32_t first_position, std::span<const float> hidden,
                 std::uint32_t head = 0) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace skipstone::ref
