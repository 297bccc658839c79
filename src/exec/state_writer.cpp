#include "exec/state_writer.h"

#include <algorithm>
#include <array>

#include "base/status.h"

namespace skipstone::exec {

// Tables are in the order of a pass's sequences, kind by kind. They grow slowly, so mostly there is
// nothing to write.
std::uint32_t StateWriter::table_of(const PageLists& pages, std::uint32_t sequence) {
  const std::uint32_t first = sequence * pages_for(model_.shape.context);
  const auto write = [&](std::uint32_t at, std::span<const std::uint32_t> of) {
    if (of.empty()) return;
    const std::span<std::uint32_t> table = buffers_.pages().subspan(at, of.size());
    for (std::size_t i = 0; i < table.size(); ++i) {
      const std::uint32_t slot = of[i] * KV_PAGE;
      if (table[i] != slot) table[i] = slot;
    }
  };
  for (const MemoryKind kind : memory_kinds) {
    if (kind != MemoryKind::states) write(first_table_entry(kind, model_.shape.context) + first, pages[kind].pages);
  }
  write_states(pages[MemoryKind::states].pages, sequence);
  return first;
}

void StateWriter::write_states(std::span<const std::uint32_t> scan, std::uint32_t sequence) {
  const std::uint32_t at = first_table_entry(MemoryKind::states, model_.shape.context) + sequence * SCAN_WORDS;
  if (buffers_.pages().size() <= at) return;  // the model has no states
  constexpr std::array<std::uint32_t, SCAN_WORDS> none{SCAN_NONE, 0, SCAN_NONE};
  std::ranges::copy(scan.size() == SCAN_WORDS ? scan : std::span<const std::uint32_t>(none), buffers_.pages().subspan(at).begin());
}

void StateWriter::write_tokens(std::span<const SequenceRows> sequences, std::uint32_t bucket) {
  abi::StepState& state = buffers_.state();
  std::uint32_t row = 0;
  for (const SequenceRows& sequence : sequences) {
    for (const std::int32_t token : sequence.rows.tokens) {
      if (token < 0 || static_cast<std::uint32_t>(token) >= model_.config.vocabulary)
        fail(Code::invalid_argument, "token {} is outside the vocabulary of {}", token, model_.config.vocabulary);
      state.tokens[row++] = static_cast<std::uint32_t>(token);
    }
  }
  // Padding rows embed the last token again; their results are neither stored nor read.
  for (; row < bucket; ++row) state.tokens[row] = state.tokens[row - 1];
}

void StateWriter::write(const PassSpec& spec, std::span<const SequenceRows> sequences) {
  write_tokens(sequences, spec.bucket);
  abi::StepState& state = buffers_.state();
  state.kept = sequences.front().rows.kept;
  const KeyWindow& window = sequences.front().rows.window;
  state.window = {window.sink, window.recent};
  std::uint32_t row = 0, most_keys = 0;
  for (std::uint32_t i = 0; i < sequences.size(); ++i) {
    const Rows& rows = sequences[i].rows;
    const auto count = static_cast<std::uint32_t>(rows.tokens.size());
    state.bases[i] = rows.base;
    state.first_rows[i] = row - rows.computed;  // may wrap below 0, as in the kernels' arithmetic: the first row's offset is `computed`
    state.tables[i] = table_of(sequences[i].pages, i);
    if (spec.tree) write_paths(row, rows);
    std::fill_n(state.sequences.begin() + row, count, i);
    const std::uint32_t last = rows.base + rows.computed + count - 1;
    most_keys = std::max(most_keys, spec.window ? window.keys(last) : last + 1);
    row += count;
  }
  std::fill(state.sequences.begin() + row, state.sequences.begin() + spec.bucket, state.sequences[row - 1]);
  if (spec.output == Output::candidates) write_requests(sequences);
  state.rows = row;
  state.attention_groups = {(most_keys - 1) / model_.shape.chunk + 1, spec.prompt ? 1 : model_.builder->attention_groups(spec.bucket), row};
}

void StateWriter::write_requests(std::span<const SequenceRows> sequences) {
  abi::CandidateRequest* to = buffers_.candidate_requests();
  for (const SequenceRows& sequence : sequences) to = std::ranges::copy(sequence.rows.candidates, to).out;
}

// A row's ancestors by position, itself last: attention reads them after the text. `first`: index in the pass of the first of `rows`.
void StateWriter::write_paths(std::uint32_t first, const Rows& rows) {
  abi::StepState& state = buffers_.state();
  const auto parent = [&](std::uint32_t i) { return rows.parents.empty() ? std::max(i, 1u) - 1 : rows.parents[i]; };
  for (std::uint32_t i = 0; i < rows.tokens.size(); ++i) {
    const std::uint32_t row = first + i;
    std::uint32_t depth = 0;
    for (std::uint32_t at = rows.computed + i; parent(at) != at; at = parent(at), ++depth) {
      if (parent(at) > at) fail(Code::internal, "row {} of a tree precedes its parent {}", at, parent(at));
    }
    state.depths[row] = depth;
    std::uint32_t at = rows.computed + i;
    for (std::uint32_t left = depth + 1; left-- > 0; at = parent(at)) {
      std::uint32_t& word = state.paths[row * STEP_PATH_WORDS + left / 4];
      const std::uint32_t shift = 8 * (left % 4);
      word = (word & ~(0xffu << shift)) | at << shift;
    }
  }
}

void StateWriter::write(const RoundSpec& round, const PassSpec& draft, const PageLists& pages) {
  const bool conditional = model_.device->caps().conditional_dispatch;
  const SequenceRows first{pages, {.tokens = {&round.pending, 1}, .base = round.base}};
  write(draft, {&first, 1});
  std::fill_n(buffers_.state().sequences.begin(), STEP_VERIFY_ROWS, 0u);
  abi::RoundState& state = buffers_.round();
  state.base = round.base;
  state.most = round.most;
  state.least_probability = round.least_probability;
  state.drafted = 0;
  state.conditions = {};
  state.conditions[ROUND_DRAFTING] = 1;
  state.attention_groups[ROUND_DRAFTING] = model_.builder->attention_groups(1);
  for (std::uint32_t b = 1; std::uint32_t{1} << b <= STEP_VERIFY_ROWS; ++b) {
    state.attention_groups[1 + b] = model_.builder->attention_groups(conditional ? std::uint32_t{1} << b : round.largest_bucket());
  }
  state.tokens[0] = static_cast<std::uint32_t>(round.pending);
}

void StateWriter::write_move(std::uint32_t base, std::span<const std::uint32_t> path, std::uint32_t to, const PageLists& pages) {
  abi::StepState& state = buffers_.state();
  state.bases[0] = base + to;
  state.first_rows[0] = 0;
  state.sequences[0] = 0;
  state.tables[0] = table_of(pages, 0);
  state.rows = static_cast<std::uint32_t>(path.size());
  std::ranges::transform(path, state.depths.begin(), [&](std::uint32_t row) { return row - to; });
}

void StateWriter::write_first_row(const PageLists& pages) {
  abi::StepState& state = buffers_.state();
  state.rows = 1;
  state.sequences.fill(0);
  state.bases[0] = state.first_rows[0] = 0;
  state.depths.fill(0);
  state.tables[0] = table_of(pages, 0);
}

}  // namespace skipstone::exec
