#include "tune/contests.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "abi/step_state.h"
#include "kernels/abi.h"

namespace skipstone::tune {
namespace {

using kernels::Choices;
using kernels::Resource;
using kernels::ResourceKind;
using kernels::Selector;

constexpr Resource x_buffer{ResourceKind::normed}, y_buffer{ResourceKind::scratch};
constexpr std::uint32_t prompt_rows = 64;  // results of the skinny kernels at this size hold for every larger bucket

std::string text(const kernels::MatvecChoice& c) {
  return fmt::format("{} rows x {} columns, {} x {} lanes{}", c.rows, c.columns, c.lanes / c.k_lanes, c.k_lanes,
                     c.shared_table ? ", shared table" : "");
}
std::string text(std::uint32_t tile) { return fmt::format("{} x {} tile", tile, tile); }
std::string text(const kernels::AttentionChoice& c) { return fmt::format("{} heads x {} rows, {} lanes", c.heads, c.rows, c.lanes); }

template <typename Choice>
std::vector<std::string> names(const std::vector<Choice>& candidates) {
  std::vector<std::string> all;
  all.reserve(candidates.size());
  for (const Choice& candidate : candidates) all.push_back(text(candidate));
  return all;
}

/// `select` with this one choice made.
template <typename Note>
Selector with(const Selector& select, const Note& note) {
  Selector other = select;
  Choices choices;
  note(choices);
  other.use(std::move(choices));
  return other;
}

/// The buckets that a measurement with `rows` rows covers.
std::vector<std::uint32_t> buckets_of(std::uint32_t rows) {
  std::vector<std::uint32_t> buckets;
  for (const std::uint32_t bucket : kernels::row_buckets) {
    if (bucket == rows || (rows > STEP_VERIFY_ROWS && bucket > STEP_VERIFY_ROWS)) buckets.push_back(bucket);
  }
  return buckets;
}

std::vector<kernels::Matrix> matrices_of(const Workload& work, gguf::Type format, std::uint32_t rows) {
  std::vector<kernels::Matrix> matrices;
  for (const kernels::Matrix& matrix : work.layer_matrices) {
    if (matrix.format == format) matrices.push_back(matrix);
  }
  if (work.output.format == format && rows <= STEP_VERIFY_ROWS) matrices.push_back(work.output);
  return matrices;
}

std::vector<kernels::Dispatch> products(const Selector& select, const std::vector<kernels::Matrix>& matrices, std::uint32_t rows) {
  std::vector<kernels::Dispatch> all;
  for (const kernels::Matrix& matrix : matrices) {
    for (kernels::Dispatch& dispatch : rows > STEP_VERIFY_ROWS
                                           ? kernels::prompt_matmul(select, matrix, x_buffer, y_buffer, rows, {}, "tuning")
                                           : kernels::matvec(select, matrix, x_buffer, y_buffer, rows, {}, "tuning")) {
      all.push_back(std::move(dispatch));
    }
  }
  return all;
}

Contest matvec_contest(const Selector& select, const Workload& work, gguf::Type format, std::uint32_t rows) {
  const auto candidates = select.matvec_candidates(format, rows);
  Contest contest;
  contest.operation = "matvec";
  contest.subject = gguf::traits(format).name;
  contest.rows = rows;
  contest.names = names(candidates);
  contest.take = [=](std::size_t i, Choices& choices) {
    for (const std::uint32_t bucket : buckets_of(rows)) choices.matvec[{format, bucket}] = candidates[i];
  };
  contest.run = [=, &select, matrices = matrices_of(work, format, rows), take = contest.take](std::size_t i) {
    return products(with(select, [&](Choices& choices) { take(i, choices); }), matrices, rows);
  };
  return contest;
}

/// One contest for each length of output, which determines the number of tiles.
std::vector<Contest> matmul_contests(const Selector& select, const Workload& work, gguf::Type format, std::uint32_t rows) {
  std::map<std::uint32_t, std::vector<kernels::Matrix>> by_length;
  for (kernels::Matrix& matrix : matrices_of(work, format, rows)) by_length[matrix.n].push_back(std::move(matrix));
  std::vector<Contest> all;
  for (auto& [n, matrices] : by_length) {
    const std::vector<std::uint32_t> tiles = select.matmul_candidates(format, n, rows);
    Contest contest;
    contest.operation = "matmul";
    contest.subject = fmt::format("{} N={}", gguf::traits(format).name, n);
    contest.rows = rows;
    contest.names = names(tiles);
    contest.take = [=, key = kernels::MatmulKey{format, n, rows}](std::size_t i, Choices& choices) { choices.matmul[key] = tiles[i]; };
    contest.run = [=, &select, matrices = std::move(matrices), take = contest.take](std::size_t i) {
      return products(with(select, [&](Choices& choices) { take(i, choices); }), matrices, rows);
    };
    all.push_back(std::move(contest));
  }
  return all;
}

Contest attention_contest(const Selector& select, const kernels::AttentionShape& shape, std::uint32_t rows) {
  const auto candidates = select.attention_candidates({shape.group(), shape.head_dim, rows}, shape.chunk);
  Contest contest;
  contest.operation = "attention";
  contest.subject = fmt::format("{} x {}", shape.group(), shape.head_dim);
  contest.rows = rows;
  contest.names = names(candidates);
  contest.take = [=](std::size_t i, Choices& choices) { choices.attention[{shape.group(), shape.head_dim, rows}] = candidates[i]; };
  contest.run = [=, &select, take = contest.take](std::size_t i) {
    const Selector chosen = with(select, [&](Choices& choices) { take(i, choices); });
    std::vector<kernels::Dispatch> dispatches = kernels::attention(chosen, shape, {}, rows, "tuning");
    dispatches.front().indirect_offset.reset();  // all chunks of the text: its group counts are the largest there are
    return dispatches;
  };
  return contest;
}

}  // namespace

std::vector<Contest> contests(const Selector& select, const Workload& work) {
  std::set<gguf::Type> formats{work.output.format};
  for (const kernels::Matrix& matrix : work.layer_matrices) formats.insert(matrix.format);
  std::vector<Contest> all;
  const auto add = [&](Contest contest) {
    if (contest.names.size() > 1) all.push_back(std::move(contest));
  };
  for (const std::uint32_t rows : kernels::row_buckets) {
    for (const gguf::Type format : formats) {
      if (rows > STEP_VERIFY_ROWS && select.tiled()) {
        for (Contest& contest : matmul_contests(select, work, format, rows)) add(std::move(contest));
      } else if ((rows <= STEP_VERIFY_ROWS || rows == prompt_rows) && !matrices_of(work, format, rows).empty()) {
        add(matvec_contest(select, work, format, rows));
      }
    }
    if (rows <= STEP_VERIFY_ROWS) add(attention_contest(select, work.attention, rows));
  }
  return all;
}

std::vector<Buffer> buffers(const Workload& work) {
  std::uint64_t widest_x = 0, widest_y = 0;
  for (const kernels::Matrix& matrix : work.layer_matrices) {
    widest_x = std::max<std::uint64_t>(widest_x, kernels::padded(matrix.k));
    widest_y = std::max<std::uint64_t>(widest_y, kernels::padded(matrix.n));
  }
  constexpr std::uint64_t word = sizeof(float), verify = STEP_VERIFY_ROWS, most = STEP_MAX_ROWS;
  const std::uint64_t half_rows = HALF_ROWS_WORDS(widest_x / 32) * most * 16;
  widest_x = std::max(widest_x * most, kernels::padded(work.output.k) * verify);
  widest_y = std::max(widest_y * most, kernels::padded(work.output.n) * verify);
  const kernels::AttentionShape& a = work.attention;
  const std::uint64_t q = verify * kernels::padded(a.heads * a.head_dim) * word;
  return {{x_buffer, widest_x * word},
          {{ResourceKind::half_rows}, half_rows},
          {y_buffer, widest_y * word},
          {{ResourceKind::q_rotated}, q},
          {{ResourceKind::attended}, q},
          {{ResourceKind::k_cache}, a.cache(ResourceKind::k_cache).bytes()},
          {{ResourceKind::v_cache}, a.cache(ResourceKind::v_cache).bytes()},
          {{ResourceKind::attention_partial}, a.partial_bytes(STEP_VERIFY_ROWS)},
          {{ResourceKind::state}, sizeof(abi::StepState) + kernels::pages_for(a.context) * sizeof(std::uint32_t)}};
}

}  // namespace skipstone::tune
