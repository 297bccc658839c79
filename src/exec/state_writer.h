// Host writes for a pass before it is submitted: tokens, positions, page tables, paths of trees, requests for candidates.
#pragma once

#include <cstdint>
#include <span>

#include "exec/loaded_model.h"
#include "exec/pass_buffers.h"
#include "exec/runner.h"

namespace skipstone::exec {

/// Writes the inputs of the next submission of one runner, while none runs.
class StateWriter {
 public:
  StateWriter(const LoadedModel& model, PassBuffers& buffers) : model_(model), buffers_(buffers) {}

  /// The inputs of a pass of `spec`. Throws invalid_argument for a token outside the vocabulary.
  void write(const PassSpec& spec, std::span<const SequenceRows> sequences);
  /// The inputs of `round`, whose first pass is one of `draft`.
  void write(const RoundSpec& round, const PassSpec& draft, const PageLists& pages);
  /// The inputs of moves of the rows `path` of a pass at `base` to base + `to`, base + `to` + 1, ...
  void write_move(std::uint32_t base, std::span<const std::uint32_t> path, std::uint32_t to, const PageLists& pages);
  /// One row at position 0, for dispatches whose results are ignored.
  void write_first_row(const PageLists& pages);

 private:
  /// `scan`: StateSlots::pass of the sequence; else a state of zeros.
  void write_states(std::span<const std::uint32_t> scan, std::uint32_t sequence);
  void write_tokens(std::span<const SequenceRows> sequences, std::uint32_t bucket);
  void write_paths(std::uint32_t first, const Rows& rows);
  void write_requests(std::span<const SequenceRows> sequences);
  /// Offset of the tables of `pages` among the page tables, which are brought up to date.
  std::uint32_t table_of(const PageLists& pages, std::uint32_t sequence);

  const LoadedModel& model_;
  PassBuffers& buffers_;
};

}  // namespace skipstone::exec
