#include "exec/runner.h"

#include <algorithm>

#include "base/status.h"
#include "exec/local_runner.h"

namespace skipstone::exec {

void Runner::run(const PassSpec& spec, const SequenceRows& sequence, PassResults& results, const PassControl& control) {
  const bool cosines = spec.cosines != Cosines::none;
  if (cosines) std::ranges::copy(results.cosine_sums, local().cosine_totals().begin());
  run(spec, {&sequence, 1}, control);
  collect(spec, 0, static_cast<std::uint32_t>(sequence.rows.tokens.size()), results);
  if (cosines) results.cosine_sums.assign(local().cosine_totals().begin(), local().cosine_totals().end());
}

void check_rows(const PassSpec& spec, std::span<const SequenceRows> sequences, std::uint32_t context) {
  if (spec.step != RoundStep::none) fail(Code::internal, "a {} pass of a round cannot run by itself", to_string(spec.step));
  const bool alone = spec.prompt || spec.last_row_only || spec.keep_after > 0 || spec.layers.begin > 0;
  if (sequences.empty() || sequences.size() > (alone ? 1 : STEP_VERIFY_ROWS)) {
    fail(Code::internal, "a pass over rows of {} sequences", sequences.size());
  }
  std::size_t all = 0;
  for (const SequenceRows& sequence : sequences) {
    const Rows& rows = sequence.rows;
    const std::size_t count = rows.tokens.size();
    if (spec.keep_after > 0 && rows.kept + count > STEP_VERIFY_ROWS) {
      fail(Code::internal, "{} rows from row {} on cannot be kept; there is room for {}", count, rows.kept, STEP_VERIFY_ROWS);
    }
    all += count;
    if (count == 0 || all > spec.bucket || rows.base + rows.computed + count > context) {
      fail(Code::internal, "{} tokens at position {} do not fit a bucket of {} rows and a context of {}", count, rows.base, spec.bucket,
           context);
    }
    if (spec.tree && !rows.parents.empty() && rows.parents.size() != rows.computed + count) {
      fail(Code::internal, "a tree of {} rows has {} parents", rows.computed + count, rows.parents.size());
    }
    if (rows.computed > 0 && (!spec.tree || rows.computed + count > STEP_VERIFY_ROWS)) {
      fail(Code::internal, "a pass over {} rows after {} of a tree", count, rows.computed);
    }
    if (spec.output == Output::candidates && (spec.last_row_only || rows.candidates.size() != count)) {
      fail(Code::internal, "{} rows have {} requests for candidates", count, rows.candidates.size());
    }
    if (spec.window && rows.window.recent == 0) fail(Code::internal, "a window without the row itself");
    if (sequence.pages[MemoryKind::full].pages.size() * KV_PAGE < rows.base + rows.computed + count)
      fail(Code::internal, "rows at {} have no pages", rows.base);
  }
}

}  // namespace skipstone::exec
