#include "convert/sparsity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <future>
#include <span>

#include "base/log.h"
#include "base/status.h"
#include "convert/json_file.h"
#include "gguf/gguf.h"
#include "model/tensor_roles.h"
#include "ref/model.h"
#include "text/tokenizer.h"

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

using model::Role;

/// The matrices that read one input.
struct Readers {
  ref::MatrixInput input;
  std::array<Role, 4> roles;
  std::size_t count;
};

constexpr std::array readers{Readers{ref::MatrixInput::attention, {Role::q, Role::k, Role::v, Role::qkv}, 4},
                             Readers{ref::MatrixInput::attention_output, {Role::o}, 1},
                             Readers{ref::MatrixInput::ffn, {Role::gate, Role::up, Role::gate_up}, 3},
                             Readers{ref::MatrixInput::ffn_down, {Role::down}, 1}};

/// Sums of squares: [layer][input][column].
using Squares = std::vector<std::array<std::vector<double>, readers.size()>>;

std::vector<std::vector<Token>> sequences_of(const gguf::File& model, const std::string& path, std::size_t context) {
  const text::Tokenizer tokenizer(text::Vocabulary::from(model));
  const std::vector<Token> tokens = tokenizer.encode(read_file(path), false, false);
  if (tokens.empty()) fail(Code::invalid_argument, "{}: the calibration text has no tokens", path);
  const std::size_t length = std::min(calibration_tokens, context);
  std::vector<std::vector<Token>> sequences;
  for (std::size_t at = 0; at < tokens.size() && sequences.size() < calibration_sequences;) {
    std::vector<Token> sequence;
    if (tokenizer.vocabulary().add_bos) sequence.push_back(tokenizer.vocabulary().bos);
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

Squares squares_of(const ref::Model& model, const std::vector<Token>& tokens) {
  Squares squares(model.config().layer_count());
  ref::Options options;
  options.all_logits = false;
  options.observe = [&](std::uint32_t layer, ref::MatrixInput input, std::span<const float> x, std::size_t rows) {
    std::vector<double>& sums = squares[layer][static_cast<std::size_t>(input)];
    sums.resize(x.size() / rows);
    for (std::size_t i = 0; i < x.size(); ++i) sums[i % sums.size()] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  };
  ref::Sequence sequence = model.new_sequence();
  model.forward(sequence, tokens, 0, exec::LayerPlan::full(model.config().layer_count()), options);
  return squares;
}

void add(Squares& all, const Squares& more) {
  for (std::size_t layer = 0; layer < all.size(); ++layer) {
    for (std::size_t input = 0; input < readers.size(); ++input) {
      std::vector<double>& sums = all[layer][input];
      sums.resize(more[layer][input].size());
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += more[layer][input][i];
    }
  }
}

std::map<std::string, std::vector<float>> by_name(const Squares& squares, const gguf::File& model) {
  std::map<std::string, std::vector<float>> norms;
  for (std::uint32_t layer = 0; layer < squares.size(); ++layer) {
    for (const Readers& row : readers) {
      std::vector<float> roots;
      for (const double sum : squares[layer][static_cast<std::size_t>(row.input)]) roots.push_back(static_cast<float>(std::sqrt(sum)));
      for (const Role role : std::span(row.roles).first(row.count)) {
        const std::string tensor = model::tensor_name(role, layer);
        if (model.find_tensor(tensor) != nullptr) norms[tensor] = roots;
      }
    }
  }
  return norms;
}

}  // namespace

std::map<std::string, std::vector<float>> input_norms(const gguf::File& model, const std::string& text, unsigned threads,
                                                      const CalibrationProgress& progress) {
  const ref::Model reference(model, KvFormat::f32);
  const auto sequences = sequences_of(model, text, reference.config().context_trained);
  Squares all(reference.config().layer_count());
  for (std::size_t first = 0; first < sequences.size(); first += threads) {
    std::vector<std::future<Squares>> running;
    for (std::size_t i = first; i < std::min<std::size_t>(sequences.size(), first + threads); ++i) {
      running.push_back(std::async(std::launch::async, [&, i] { return squares_of(reference, sequences[i]); }));
    }
    for (std::future<Squares>& each : running) add(all, each.get());  // in the order of the text
    if (progress && !progress(first + running.size(), sequences.size())) fail(Code::cancelled, "reading {} was cancelled", text);
  }
  return by_name(all, model);
}

}  // namespace skipstone::convert
