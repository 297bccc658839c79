#include "convert/input_statistics.h"

#include <algorithm>
#include <array>
#include <future>
#include <span>

#include "base/status.h"
#include "gguf/gguf.h"
#include "model/tensor_roles.h"
#include "ref/model.h"

namespace skipstone::convert {
namespace {

using model::Role;

/// The matrices that read one input.
struct Readers {
  ref::MatrixInput input;
  std::array<Role, 9> roles;
  std::size_t count;
};

constexpr std::array readers{
    Readers{ref::MatrixInput::attention,
            {Role::q, Role::k, Role::v, Role::qkv, Role::shortconv_in, Role::ssm_in, Role::ssm_gate, Role::ssm_beta, Role::ssm_alpha},
            9},
    Readers{ref::MatrixInput::attention_output, {Role::o, Role::shortconv_out, Role::ssm_out}, 3},
    Readers{ref::MatrixInput::ffn, {Role::gate, Role::up, Role::gate_up}, 3}, Readers{ref::MatrixInput::ffn_down, {Role::down}, 1}};

/// [layer][input]
using Squares = std::vector<std::array<InputSquares, readers.size()>>;

Squares squares_of(const ref::Model& model, const std::vector<text::Token>& tokens) {
  Squares squares(model.config().layer_count());
  ref::Options options;
  options.all_logits = false;
  options.observe = [&](std::uint32_t layer, ref::MatrixInput input, std::span<const float> x, std::size_t rows) {
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

}  // namespace

std::map<std::string, InputSquares> input_squares(const ref::Model& reference, const gguf::File& model,
                                                  const std::vector<std::vector<text::Token>>& sequences, unsigned threads,
                                                  const CalibrationProgress& progress) {
  Squares all(reference.config().layer_count());
  for (std::size_t first = 0; first < sequences.size(); first += threads) {
    std::vector<std::future<Squares>> running;
    for (std::size_t i = first; i < std::min<std::size_t>(sequences.size(), first + threads); ++i) {
      running.push_back(std::async(std::launch::async, [&, i] { return squares_of(reference, sequences[i]); }));
    }
    for (std::future<Squares>& each : running) add(all, each.get());  // in the order of the text
    if (progress && !progress(first + running.size(), sequences.size())) fail(Code::cancelled, "reading the text was cancelled");
  }
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
