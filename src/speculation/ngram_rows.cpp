#include "speculation/ngram_rows.h"

#include <algorithm>
#include <numeric>

namespace skipstone::speculation {
namespace {

constexpr double depth_decay = 0.75;

struct Counted {
  std::span<const Token> tokens;
  std::uint32_t place = 0, count = 0;  ///< the latest place
};

}  // namespace

const char* to_string(NgramStrategy strategy) {
  switch (strategy) {
    case NgramStrategy::context:
      return "context";
    case NgramStrategy::bigram:
      return "bigram";
    case NgramStrategy::unigram:
      return "unigram";
  }
  return "unknown";
}

std::vector<NgramRow> context_rows(const Occurrences& index, const NgramShape& shape) {
  const std::span<const Token> text = index.text();
  if (text.empty()) return {};
  const auto last = static_cast<std::uint32_t>(text.size()) - 1;
  std::vector<Counted> found;
  for (std::uint32_t place = index.before(last); place != Occurrences::none; place = index.before(place)) {
    if (shape.query > 1 && common_end(text.first(place + 1), text, shape.query) < shape.query) continue;
    found.push_back({text.subspan(place + 1, std::min(shape.width, last - place)), place, 1});
  }
  const auto same = [](const Counted& a, const Counted& b) { return std::ranges::equal(a.tokens, b.tokens); };
  std::ranges::sort(found, [](const Counted& a, const Counted& b) {
    const auto order = std::lexicographical_compare_three_way(a.tokens.begin(), a.tokens.end(), b.tokens.begin(), b.tokens.end());
    return order != 0 ? order < 0 : a.place > b.place;
  });
  std::vector<Counted> different;
  for (const Counted& one : found) {
    if (!different.empty() && same(different.back(), one)) {
      ++different.back().count;
    } else {
      different.push_back(one);
    }
  }
  std::ranges::sort(different,
                    [](const Counted& a, const Counted& b) { return a.count != b.count ? a.count > b.count : a.place > b.place; });
  if (different.size() > shape.rows) different.resize(shape.rows);
  std::vector<NgramRow> rows;
  rows.reserve(different.size());
  for (const Counted& one : different) {
    rows.push_back({NgramStrategy::context, static_cast<std::uint32_t>(rows.size()), {one.tokens.begin(), one.tokens.end()}});
  }
  return rows;
}

std::vector<NgramRow> extended_rows(NgramStrategy strategy, std::span<const Token> first, const Bigrams& bigrams, const NgramShape& shape) {
  std::vector<NgramRow> rows;
  for (const Token token : first) {
    if (token < 0 || rows.size() == shape.rows) break;
    NgramRow row{strategy, static_cast<std::uint32_t>(rows.size()), {token}};
    while (row.tokens.size() < shape.width) {
      const std::span<const Token> next = bigrams.after(row.tokens.back());
      if (next.empty() || next[0] < 0) break;
      row.tokens.push_back(next[0]);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

void fill_up(std::vector<NgramRow>& rows, std::span<const NgramRow> more, std::uint32_t most) {
  for (const NgramRow& row : more) {
    if (rows.size() >= most) return;
    if (std::ranges::find(rows, row.tokens, &NgramRow::tokens) == rows.end()) rows.push_back(row);
  }
}

TokenTree best_tree(Token pending, std::span<const NgramRow> rows, std::uint32_t most_drafts) {
  TokenTree all(pending);
  std::vector<double> worth{0.0};
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::uint32_t at = 0;
    double value = 1.0 / static_cast<double>(r + 1);
    for (const Token token : rows[r].tokens) {
      at = all.add(at, token);
      worth.resize(all.rows());
      worth[at] += value;
      value *= depth_decay;
    }
  }
  std::vector<std::uint32_t> order(all.drafts());
  std::iota(order.begin(), order.end(), 1u);
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) { return worth[a] > worth[b]; });
  if (order.size() > most_drafts) order.resize(most_drafts);
  TokenTree best(pending);
  std::vector<std::uint32_t> place(all.rows(), 0);
  for (const std::uint32_t row : order) place[row] = best.add(place[all.parents()[row]], all.tokens()[row]);
  return best;
}

}  // namespace skipstone::speculation
