// Candidates without a common prefix in one pass: a block of rows as N-Grammys verifies it (arXiv 2411.03786, section 2).
#include <algorithm>
#include <numeric>

#include "engine/device_sequence.h"

namespace skipstone::engine {

using speculation::Choice;
using speculation::Token;

/// Runs as many rows from `first` on as fit into one pass, and returns the next row.
std::uint32_t DeviceSequence::run_block(std::span<const std::vector<Token>> rows, std::uint32_t first) {
  const std::size_t room = std::min<std::size_t>(STEP_VERIFY_ROWS, passes_.shape().context - committed());
  std::vector<Token> tokens;
  std::vector<std::uint32_t> parents;
  std::uint32_t end = first;
  chooser_.begin_rows();
  for (; end < rows.size() && (end == first || tokens.size() + rows[end].size() <= room); ++end) {
    for (std::size_t i = 0; i < rows[end].size(); ++i) {
      const auto at = static_cast<std::uint32_t>(tokens.size());
      parents.push_back(i == 0 ? at : at - 1);
      tokens.push_back(rows[end][i]);
      chooser_.set_token(committed() + i, rows[end][i]);
      chooser_.add_row(committed() + i);
    }
  }
  exec::PassSpec spec = pass(exec::LayerPlan::full(config_.layer_count()), tokens.size());
  spec.tree = true;
  exec::Rows pass_rows{.tokens = tokens, .base = committed(), .parents = parents};
  chooser_.request(spec, pass_rows);
  passes_.run(spec, pass_rows);
  block_first_ = first;
  return end;
}

void DeviceSequence::verify_block(std::span<const std::vector<Token>> rows, std::span<std::vector<Choice>> out) {
  exits_.fill(text_);
  verified_.reset();
  for (std::uint32_t first = 0; first < rows.size();) {
    const std::uint32_t end = run_block(rows, first);
    for (std::uint32_t at = 0; first < end; ++first) {
      for (std::uint32_t i = 0; i < rows[first].size(); ++i, ++at) {
        const std::size_t position = committed() + i;
        chooser_.set_token(position, rows[first][i]);
        out[first][i] = chooser_.verified(passes_, at, position);
      }
    }
  }
  end_round();
}

void DeviceSequence::commit_row(std::span<const std::vector<Token>> rows, std::uint32_t row, std::uint32_t tokens) {
  std::uint32_t at = 0;
  if (row < block_first_) {
    run_block(rows.subspan(row, 1), 0);  // the last pass has overwritten it; this gives the same bits again
  } else {
    for (std::uint32_t i = block_first_; i < row; ++i) at += static_cast<std::uint32_t>(rows[i].size());
  }
  std::vector<std::uint32_t> path(tokens);
  std::iota(path.begin(), path.end(), at);
  passes_.keep_path(committed(), path);
  for (std::uint32_t i = 0; i < tokens; ++i) {
    chooser_.set_token(committed(), rows[row][i]);
    text_.append(rows[row][i]);
  }
}

}  // namespace skipstone::engine
