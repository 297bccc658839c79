#include "convert/sparsity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/log.h"
#include "base/status.h"
#include "gguf/gguf.h"
#include "ref/model.h"

namespace skipstone::convert {

Scores parse_scores(std::string_view name) {
  if (name == "magnitude") return Scores::magnitude;
  if (name == "wanda") return Scores::wanda;
  constexpr std::size_t shown = 40;
  fail(Code::invalid_argument, "there are no scores '{}'; there are magnitude and wanda", gguf::escaped(name.substr(0, shown)));
}

void prune_row(std::span<float> row, std::span<const float> norms) {
  if (row.size() % 4 != 0 || norms.size() != row.size()) {
    fail(Code::internal, "{} weights with {} norms cannot be pruned in groups of four", row.size(), norms.size());
  }
  for (std::size_t group = 0; group < row.size(); group += 4) {
    const auto score = [&](std::size_t place) { return std::fabs(row[group + place]) * norms[group + place]; };
    std::array<std::size_t, 4> order{0, 1, 2, 3};
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return score(a) > score(b); });
    row[group + order[2]] = row[group + order[3]] = 0.0f;
  }
}

namespace {

using text::Token;

std::vector<std::vector<Token>> sequences_of(const gguf::File& model, const std::string& path, std::size_t context) {
  const auto [tokens, bos] = tokens_of(model, path);
  if (tokens.empty()) fail(Code::invalid_argument, "{}: the calibration text has no tokens", path);
  const std::size_t length = std::min(calibration_tokens, context);
  std::vector<std::vector<Token>> sequences;
  for (std::size_t at = 0; at < tokens.size() && sequences.size() < calibration_sequences;) {
    std::vector<Token> sequence;
    if (bos) sequence.push_back(*bos);
    const std::size_t count = std::min(tokens.size() - at, std::max<std::size_t>(1, length - sequence.size()));
    const auto from = tokens.begin() + static_cast<std::ptrdiff_t>(at);
    sequence.insert(sequence.end(), from, from + static_cast<std::ptrdiff_t>(count));
    at += count;
    sequences.push_back(std::move(sequence));
  }
  if (tokens.size() < calibration_tokens) {
    log::warning("{}: a calibration text of {} tokens says little about a model; some thousands are better", path, tokens.size());
  }
  return sequences;
}

}  // namespace

std::map<std::string, std::vector<float>> input_norms(const gguf::File& model, const std::string& text, unsigned threads,
                                                      const CalibrationProgress& progress) {
  const ref::Model reference(model, KvFormat::f32);
  const auto sequences = sequences_of(model, text, reference.config().context_trained);
  std::map<std::string, std::vector<float>> norms;
  for (const auto& [tensor, squares] : input_squares(reference, model, sequences, threads, progress)) {
    for (const double sum : squares.sums) norms[tensor].push_back(static_cast<float>(std::sqrt(sum)));
  }
  return norms;
}

}  // namespace skipstone::convert
