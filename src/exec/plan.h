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

/// What a pass leaves behind besides K and V.
enum class Output : std::uint8_t {
  none,    ///< nothing (all chunks of a prompt but the last)
  argmax,  ///< token, probability and margin of every row
  logits,  ///< the logits of every row, for sampling
  candidates,  ///< of every row's logits what Rows::candidates asks for; the logits stay on the device
  hidden,  ///< the residual stream of every row behind the last norm, which is what the logits are made of
};
const char* to_string(Output output);

/// A pass's place in a round that is one submission: what it depends on, and what follows it on the device.
enum class RoundStep : std::uint8_t {
  none,      ///< not in one: the host steps
  draft,     ///< runs while drafting goes on; then `advance`
  kept_row,  ///< the last draft's row through the layers whose rows are kept; then `advance`
  verify,    ///< runs where the round has as many rows as this bucket is for; `accept` is its last dispatch
};
const char* to_string(RoundStep step);

/// Around which sublayers a pass reduces the residual stream's cosine.
enum class Cosines : std::uint8_t { none, attention, all };

/// What of a pass runs on a device that has some of the layers. Of one that has all of them a pass is one leg.
enum class Leg : std::uint8_t {
  out,   ///< the layers that are here, from tokens, kept rows or what the device before handed on; where others follow, the rows are handed
         ///< on
  back,  ///< the output, of the rows that have come back to the device that has the head
};

struct PassSpec {
  LayerPlan layers;          ///< where its first layer is not the model's, the pass starts from the kept rows instead of tokens
  std::uint32_t bucket = 1;  ///< rows that are computed; real rows are in the state
  /// The rows are tokens of a prompt: the kernels of prompts compute them, whose bits depend on the tokens before a row alone.
  bool prompt = false;
  Output output = Output::argmax;
  bool last_row_only = false;    ///< the output is of the last real row alone
  std::uint32_t keep_after = 0;  ///< the residual stream after this many layers goes to the kept rows; 0: it does not
  Cosines cosines = Cosines::none;
  bool kv_only = false;  ///< each layer stores K and V of the residual stream as it is, and leaves it so
  bool tree = false;     ///< rows stand behind their parents, not behind each other
  bool window = false;   ///< attention reads a part of the text alone: Rows::window
  RoundStep step = RoundStep::none;
  Leg leg = Leg::out;
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
  kernels::Resource handed_on = {};       ///< the residual stream behind the last layer that is here

  /// One line per dispatch: label, kernel and constants, buffers (< read, > written, = both), group counts. For goldens and people.
  /// `tensor_name` turns weight ordinals into names.
  std::string print(std::uint32_t model_layers, const std::function<std::string(std::uint32_t)>& tensor_name) const;
};

}  // namespace skipstone::exec
