#include "tune/contests.h"

#include <fmt/format.h>

#include <algorithm>
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
constexpr std::uint32_t prompt_rows = 64;  // what is found for it holds for every larger bucket

std::string text(const kernels::MatvecChoice& c) {
  return fmt::format("{} rows x {} columns, {} x {} lanes", c.rows, c.columns, c.lanes / c.k_lanes, c.k_lanes);
}
std::string text(const kernels::MatmulChoice& c) { return fmt::format("{} x {} tile, {} lanes", c.tile_n, c.tile_m, c.lanes); }
std::string text(const kernels::AttentionChoice& c) { return fmt::format("{} heads, {} lanes", c.heads, c.lanes); }

template <typename Choice>
std::vector<std::string> names(const std::vector<Choice>& candidates) {
  std::vector<std::string> all;
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

/// The buckets that a measurement with `rows` rows stands for.
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

/// Products with all of `matrices`; `multiply` is kernels::matvec or kernels::matmul.
template <typename Multiply>
std::vector<kernels::Dispatch> products(const Selector& select, const std::vector<kernels::Matrix>& matrices, std::uint32_t rows,
                                        const Multiply& multiply) {
  std::vector<kernels::Dispatch> all;
  for (const kernels::Matrix& matrix : matrices) {
    for (kernels::Dispatch& dispatch : multiply(select, matrix, x_buffer, y_buffer, rows, kernels::MatvecFusion{}, "tuning"))
      all.push_back(std::move(dispatch));
  }
  return all;
}

/// `member`: which table of Choices.
template <typename Choice, typename Table, typename Multiply>
Contest matrix_contest(const Selector& select, std::vector<kernels::Matrix> matrices, const char* operation, gguf::Type format,
                       std::uint32_t rows, std::vector<Choice> candidates, Table Choices::*member, Multiply multiply) {
  Contest contest;
  contest.operation = operation;
  contest.subject = gguf::traits(format).name;
  contest.rows = rows;
  contest.names = names(candidates);
  contest.take = [=](std::size_t i, Choices& choices) {
    for (const std::uint32_t bucket : buckets_of(rows)) (choices.*member)[{format, bucket}] = candidates[i];
  };
  contest.run = [=, &select, matrices = std::move(matrices), take = contest.take](std::size_t i) {
    return products(with(select, [&](Choices& choices) { take(i, choices); }), matrices, rows, multiply);
  };
  return contest;
}

Contest matrix_contest(const Selector& select, const Workload& work, gguf::Type format, std::uint32_t rows) {
  std::vector<kernels::Matrix> matrices = matrices_of(work, format, rows);
  if (select.tiled(rows)) {
    return matrix_contest(select, std::move(matrices), "matmul", format, rows, select.matmul_candidates(format, rows), &Choices::matmul,
                          kernels::matmul);
  }
  return matrix_contest(select, std::move(matrices), "matvec", format, rows, select.matvec_candidates(format, rows), &Choices::matvec,
                        kernels::matvec);
}

Contest attention_contest(const Selector& select, const kernels::AttentionShape& shape, std::uint32_t rows) {
  const auto candidates = select.attention_candidates(shape.group(), shape.chunk);
  Contest contest;
  contest.operation = "attention";
  contest.subject = fmt::format("{} x {}", shape.group(), shape.head_dim);
  contest.rows = rows;
  contest.names = names(candidates);
  contest.take = [=](std::size_t i, Choices& choices) { choices.attention[{shape.group(), shape.head_dim, rows}] = candidates[i]; };
  contest.run = [=, &select, take = contest.take](std::size_t i) {
    const Selector chosen = with(select, [&](Choices& choices) { take(i, choices); });
    std::vector<kernels::Dispatch> dispatches = kernels::attention(chosen, shape, 0, rows, "tuning");
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
    if (rows > STEP_VERIFY_ROWS && rows != prompt_rows) continue;
    for (const gguf::Type format : formats) {
      if (!matrices_of(work, format, rows).empty()) add(matrix_contest(select, work, format, rows));
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
  constexpr std::uint64_t word = sizeof(float), verify = STEP_VERIFY_ROWS, most = std::max<std::uint64_t>(prompt_rows, STEP_VERIFY_ROWS);
  widest_x = std::max(widest_x * most, kernels::padded(work.output.k) * verify);
  widest_y = std::max(widest_y * most, kernels::padded(work.output.n) * verify);
  const kernels::AttentionShape& a = work.attention;
  const std::uint64_t q = verify * kernels::padded(a.heads * a.head_dim) * word;
  return {{x_buffer, widest_x * word},
          {y_buffer, widest_y * word},
          {{ResourceKind::q_rotated}, q},
          {{ResourceKind::attended}, q},
          {{ResourceKind::k_cache}, a.kv_bytes()},
          {{ResourceKind::v_cache}, a.kv_bytes()},
          {{ResourceKind::attention_partial}, a.partial_bytes(STEP_VERIFY_ROWS)},
          {{ResourceKind::state}, sizeof(abi::StepState)}};
}

}  // namespace skipstone::tune
