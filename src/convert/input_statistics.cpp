#include "convert/input_statistics.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <future>
#include <span>
#include <thread>

#include "base/status.h"
#include "convert/json_file.h"
#include "gguf/gguf.h"
#include "model/tensor_roles.h"
#include "ref/model.h"

namespace skipstone::convert {
namespace {

using model::Role;

/// The matrices that read one input.
struct Readers {
  ref::MatrixInput input;
  std::array<Role, 12> roles;
  std::size_t count;
};

constexpr std::array readers{Readers{ref::MatrixInput::attention,
                                     {Role::q, Role::k, Role::v, Role::qkv, Role::kv_a, Role::q_a, Role::shortconv_in, Role::ssm_in,
                                      Role::ssm_gate, Role::ssm_beta, Role::ssm_alpha, Role::ssm_rates},
                                     12},
                             Readers{ref::MatrixInput::attention_output, {Role::o, Role::shortconv_out, Role::ssm_out}, 3},
                             Readers{ref::MatrixInput::ffn, {Role::gate, Role::up, Role::gate_up, Role::shared_gate, Role::shared_up}, 5},
                             Readers{ref::MatrixInput::ffn_down, {Role::down, Role::shared_down}, 2}};

/// [layer][input]
using Squares = std::vector<std::array<InputSquares, readers.size()>>;

constexpr const char* cancelled = "reading the text was cancelled";

/// Throws cancelled once `stopped` is set.
Squares squares_of(const ref::Model& model, const std::vector<text::Token>& tokens, const std::atomic<bool>& stopped) {
  Squares squares(model.config().layer_count());
  ref::Options options;
  options.all_logits = false;
  options.observe = [&](std::uint32_t layer, ref::MatrixInput input, std::span<const float> x, std::size_t rows) {
    if (stopped) fail(Code::cancelled, "{}", cancelled);
    InputSquares& all = squares[layer][static_cast<std::size_t>(input)];
    std::vector<double>& sums = all.sums;
    sums.resize(x.size() / rows);
    for (std::size_t i = 0; i < x.size(); ++i) sums[i % sums.size()] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    all.rows += rows;
  };
  ref::Sequence sequence = model.new_sequence();
  model.forward(sequence, tokens, 0, exec::LayerPlan::full(model.config().layer_count()), options);
  return squares;
}

void add(Squares& all, const Squares& more) {
  for (std::size_t layer = 0; layer < all.size(); ++layer) {
    for (std::size_t input = 0; input < readers.size(); ++input) {
      InputSquares& to = all[layer][input];
      const InputSquares& from = more[layer][input];
      to.sums.resize(from.sums.size());
      for (std::size_t i = 0; i < to.sums.size(); ++i) to.sums[i] += from.sums[i];
      to.rows += from.rows;
    }
  }
}

/// Of all sequences. Each thread takes the next one; the sums are added in the order of the text.
Squares sum_of_squares(const ref::Model& reference, const std::vector<std::vector<text::Token>>& sequences, unsigned threads,
                       const CalibrationProgress& progress) {
  constexpr std::chrono::milliseconds between_reports(100);
  std::vector<std::promise<Squares>> results(sequences.size());
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stopped = false;
  const auto work = [&] {
    for (std::size_t i = next++; i < sequences.size() && !stopped; i = next++) {
      try {
        results[i].set_value(squares_of(reference, sequences[i], stopped));
      } catch (...) {
        results[i].set_exception(std::current_exception());
      }
    }
  };
  const auto report = [&](std::size_t done) {
    if (progress && !progress(done, sequences.size())) fail(Code::cancelled, "{}", cancelled);
  };
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency()), wanted = threads == 0 ? cores : threads;
  Squares all(reference.config().layer_count());
  std::vector<std::jthread> workers;
  try {
    while (workers.size() < std::min({wanted, cores, sequences.size()})) workers.emplace_back(work);
    for (std::size_t done = 0; done < sequences.size(); ++done) {
      std::future<Squares> result = results[done].get_future();
      while (result.wait_for(between_reports) == std::future_status::timeout) report(done);
      add(all, result.get());
      report(done + 1);
    }
  } catch (...) {
    stopped = true;
    throw;
  }
  return all;
}

}  // namespace

TextTokens tokens_of(const gguf::File& model, const std::string& path) {
  const text::Tokenizer tokenizer(text::Vocabulary::from(model));
  TextTokens text{.tokens = tokenizer.encode(read_file(path), false, false), .bos = std::nullopt};
  if (tokenizer.vocabulary().add_bos) text.bos = tokenizer.vocabulary().bos;
  return text;
}

std::map<std::string, InputSquares> input_squares(const ref::Model& reference, const gguf::File& model,
                                                  const std::vector<std::vector<text::Token>>& sequences, unsigned threads,
                                                  const CalibrationProgress& progress) {
  const Squares all = sum_of_squares(reference, sequences, threads, progress);
  std::map<std::string, InputSquares> by_name;
  for (std::uint32_t layer = 0; layer < all.size(); ++layer) {
    for (const Readers& row : readers) {
      for (const Role role : std::span(row.roles).first(row.count)) {
        const std::string tensor = model::tensor_name(role, layer);
        if (model.find_tensor(tensor) != nullptr) by_name[tensor] = all[layer][static_cast<std::size_t>(row.input)];
      }
    }
  }
  return by_name;
}

}  // namespace skipstone::convert
