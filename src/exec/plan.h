// A pass as data: what kind of pass (PassSpec), and the flat list of dispatches that it is made of (Plan).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "exec/layer_plan.h"
#include "kernels/dispatch.h"

namespace skipstone::exec {

/// The output of a pass besides K and V.
enum class Output : std::uint8_t {
  none,        ///< nothing (all chunks of a prompt but the last)
  argmax,      ///< token, probability and margin of every row
  logits,      ///< the logits of every row, for sampling
  candidates,  ///< the candidates that Rows::candidates requests for every row; the logits stay on the device
  hidden,      ///< the residual stream of every row after the last norm, from which the logits are computed
};
const char* to_string(Output output);

/// A pass's place in a round that is one submission: what it depends on, and what follows it on the device.
enum class RoundStep : std::uint8_t {
  none,      ///< not in one: the host steps
  draft,     ///< runs while drafting continues; then `advance`
  kept_row,  ///< the last draft's row through the layers whose hidden states are saved; then `advance`
  verify,    ///< runs if this is the bucket for the round's number of rows; `accept` is its last dispatch
};
const char* to_string(RoundStep step);

/// The sublayers around which a pass reduces the residual stream's cosine.
enum class Cosines : std::uint8_t { none, attention, all };

/// The part of a pass on a device with some of the layers. With all layers local, a pass is one direction.
enum class Direction : std::uint8_t {
  outbound,   ///< the local layers, from tokens, saved hidden states or rows of the previous device; forwards the rows if layers follow
  returning,  ///< the output, of rows that have returned to the device with the head
};

struct PassSpec {
  LayerPlan layers;          ///< unless its first layer is the model's first, the pass starts from saved hidden states, not tokens
  std::uint32_t bucket = 1;  ///< rows that are computed; real rows are in the state
  /// The rows are tokens of a prompt: the kernels of prompts compute them, whose bits depend only on the tokens before a row.
  bool prompt = false;
  Output output = Output::argmax;
  bool last_row_only = false;    ///< the output is of the last real row only
  std::uint32_t keep_after = 0;  ///< the residual stream after this many layers is saved; 0: it is not
  Cosines cosines = Cosines::none;
  bool kv_only = false;  ///< each layer stores K and V of the residual stream as it is, and leaves it unchanged
  bool tree = false;     ///< rows follow their parents, not each other
  bool window = false;   ///< attention reads only a part of the text: Rows::window
  /// A draft by the model's head for multi-token prediction: `layers` are none, and the output is the head's.
  bool predicts = false;
  RoundStep step = RoundStep::none;
  Direction direction = Direction::outbound;
  bool operator==(const PassSpec&) const = default;

  std::uint32_t output_rows() const { return output == Output::none ? 0 : last_row_only ? 1 : bucket; }
};

struct PassSpecHash {
  std::size_t operator()(const PassSpec& spec) const noexcept;
};

/// The first `dispatches` dispatches of a plan depend on word `word` of RoundState::conditions.
struct Condition {
  std::uint32_t word = 0;
  std::size_t dispatches = 0;
};

struct Plan {
  PassSpec spec;
  std::vector<kernels::Dispatch> dispatches;
  std::optional<Condition> condition;
  std::vector<std::size_t> layer_starts;  ///< the first dispatch of each layer, and that of the output
  kernels::Resource handed_on = {};       ///< the residual stream after the last local layer

  /// One line per dispatch: label, kernel and constants, buffers (< read, > written, = both), group counts. For goldens and people.
  /// `tensor_name` turns weight ordinals into names.
  std::string print(std::uint32_t model_layers, const std::function<std::string(std::uint32_t)>& tensor_name) const;
};

}  // namespace skipstone::exec
