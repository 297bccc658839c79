// Recurrent mixers with weights as floats.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>

#include "ref/layers.h"
#include "ref/operations.h"
#include "ref/recurrent.h"

namespace skipstone::ref {
namespace {

/// The records of a layer: of each position the inputs that later rows depend on.
class Records {
 public:
  Records(RecurrentMemory& memory, std::size_t width) : memory_(memory), width_(width) {}

  std::span<float> put(std::uint32_t position) {
    memory_.records.resize(std::max(memory_.records.size(), (position + std::size_t{1}) * width_));
    return std::span(memory_.records).subspan(position * width_, width_);
  }
  std::span<const float> at(std::uint32_t position) const { return std::span(memory_.records).subspan(position * width_, width_); }

 private:
  RecurrentMemory& memory_;
  std::size_t width_;
};

/// `step(position, row)` for each row of the call, `row` being its index, and before them, with -1, for those that the state lacks: a state
/// of later rows begins anew.
template <typename Step>
void advance(const LayerRows& at, RecurrentMemory& memory, std::size_t state_size, const Step& step) {
  if (memory.state.empty() || memory.position > at.first_position) {
    memory.state.assign(state_size, 0.0f);
    memory.position = 0;
  }
  const auto end = at.first_position + static_cast<std::uint32_t>(at.rows);
  for (; memory.position < end; ++memory.position) {
    step(memory.position, static_cast<std::ptrdiff_t>(memory.position) - static_cast<std::ptrdiff_t>(at.first_position));
  }
}

/// The numbers of a convolution and its activation by SiLU.
Floats convolve(const Floats& taps, const Floats& bias, std::size_t channels, const Records& records, std::uint32_t position) {
  Floats out(channels);
  causal_convolution(
      taps, bias, position, [&](std::uint32_t of) { return records.at(of); }, out);
  for (float& number : out) number = static_cast<float>(silu(static_cast<double>(number)));
  return out;
}

struct ShortConvWeights {
  Linear in, out;
  Floats taps;

  ShortConvWeights(const model::ShortConv&, const model::Parameters& t)
      : in(t[model::Role::shortconv_in]), out(t[model::Role::shortconv_out]), taps(weights(*t[model::Role::shortconv_taps].weight)) {}

  Floats run(const LayerRows& at, const Floats& input) const {
    const std::size_t width = at.config.width;
    observe(at, MatrixInput::attention, input);
    const Floats projected = in.apply(input, at.rows);
    Records records(at.sequence.recurrent[at.layer], width);
    Floats mixed(at.rows * width), convolved(width);
    for (std::size_t r = 0; r < at.rows; ++r) {
      const auto position = at.first_position + static_cast<std::uint32_t>(r);
      const std::span<const float> b = row_of(projected, 3 * r, width), c = row_of(projected, 3 * r + 1, width),
                                   x = row_of(projected, 3 * r + 2, width);
      std::ranges::transform(b, x, records.put(position).begin(), std::multiplies<>());
      causal_convolution(
          taps, {}, position, [&](std::uint32_t of) { return records.at(of); }, convolved);
      std::ranges::transform(c, convolved, row_of(mixed, r, width).begin(), std::multiplies<>());
    }
    observe(at, MatrixInput::attention_output, mixed);
    return out.apply(mixed, at.rows);
  }
};

struct GatedDeltaNetWeights {
  model::GatedDeltaNet net;
  Linear gate, qkv, beta, alpha, out;
  Floats taps, dt_bias, decay_rate;
  NormWeights norm;

  GatedDeltaNetWeights(const model::GatedDeltaNet& like, const model::Parameters& t)
      : net(like),
        gate(t[model::Role::ssm_gate]),
        qkv(t[model::Role::qkv]),
        out(t[model::Role::ssm_out]),
        taps(weights(*t[model::Role::ssm_taps].weight)),
        dt_bias(weights(*t[model::Role::ssm_dt].weight)),
        decay_rate(weights(*t[model::Role::ssm_a].weight)),
        norm(t[model::Role::ssm_norm]) {
    if (net.fused_rates) {
      const std::size_t group = net.value_heads / net.key_heads;
      for (std::size_t h = 0; h < net.key_heads; ++h) {
        beta.append(Linear(t[model::Role::ssm_rates], 2 * h * group, group));
        alpha.append(Linear(t[model::Role::ssm_rates], (2 * h + 1) * group, group));
      }
    } else {
      beta = Linear(t[model::Role::ssm_beta]);
      alpha = Linear(t[model::Role::ssm_alpha]);
    }
  }

  Floats run(const LayerRows& at, const Floats& input) const;
  /// The row's step in all heads; `mixed`: their outputs.
  void step(std::span<const float> record, Floats&& channels, std::span<float> state, std::span<float> mixed) const;
};

void GatedDeltaNetWeights::step(std::span<const float> record, Floats&& channels, std::span<float> state, std::span<float> mixed) const {
  const std::size_t heads = net.value_heads, key_width = net.key_width(), key_dim = net.key_dim, value_dim = net.value_dim;
  const std::span<float> all(channels);
  for (std::size_t h = 0; h < net.key_heads; ++h) {
    l2_normalise(all.subspan(h * key_dim, key_dim), 1.0 / std::sqrt(static_cast<double>(key_dim)));
    l2_normalise(all.subspan(key_width + h * key_dim, key_dim));
  }
  const std::span<const float> betas = record.subspan(net.channels(), heads), alphas = record.subspan(net.channels() + heads, heads);
  const std::size_t head_state = key_dim * value_dim;
  for (std::size_t h = 0; h < heads; ++h) {
    const std::size_t key_head = net.tiled_heads ? h % net.key_heads : h / (heads / net.key_heads);
    const double rate = decay_rate[h], dt = softplus(static_cast<double>(alphas[h]) + static_cast<double>(dt_bias[h]));
    const DeltaRow row{.query = all.subspan(key_head * key_dim, key_dim),
                       .key = all.subspan(key_width + key_head * key_dim, key_dim),
                       .value = all.subspan(2 * key_width + h * value_dim, value_dim),
                       .decay = std::exp(rate * dt),
                       .beta = sigmoid(static_cast<double>(betas[h]))};
    delta_step(state.subspan(h * head_state, head_state), row, mixed.subspan(h * value_dim, value_dim));
  }
}

Floats GatedDeltaNetWeights::run(const LayerRows& at, const Floats& input) const {
  observe(at, MatrixInput::attention, input);
  const Floats gates = gate.apply(input, at.rows), conv_inputs = qkv.apply(input, at.rows), betas = beta.apply(input, at.rows),
               alphas = alpha.apply(input, at.rows);
  const std::size_t channels = net.channels(), heads = net.value_heads, width = net.value_width();
  RecurrentMemory& memory = at.sequence.recurrent[at.layer];
  Records records(memory, channels + 2 * heads);
  for (std::size_t r = 0; r < at.rows; ++r) {
    const std::span<float> record = records.put(at.first_position + static_cast<std::uint32_t>(r));
    std::ranges::copy(row_of(conv_inputs, r, channels), record.begin());
    std::ranges::copy(row_of(betas, r, heads), record.subspan(channels).begin());
    std::ranges::copy(row_of(alphas, r, heads), record.subspan(channels + heads).begin());
  }
  Floats mixed(at.rows * width), unused(width);
  advance(at, memory, heads * net.key_dim * net.value_dim, [&](std::uint32_t position, std::ptrdiff_t row) {
    step(records.at(position), convolve(taps, {}, channels, records, position), memory.state,
         row < 0 ? std::span(unused) : row_of(mixed, static_cast<std::size_t>(row), width));
  });
  mixed = norm.apply(mixed, at.config.norm_epsilon);
  for (std::size_t i = 0; i < mixed.size(); ++i) mixed[i] = static_cast<float>(mixed[i] * silu(static_cast<double>(gates[i])));
  observe(at, MatrixInput::attention_output, mixed);
  return out.apply(mixed, at.rows);
}

struct Mamba2Weights {
  model::Mamba2 mamba;
  Linear in, out;
  Floats taps, taps_bias, dt_bias, decay_rate, skip, norm;

  Mamba2Weights(const model::Mamba2& like, const model::Parameters& t)
      : mamba(like),
        in(t[model::Role::ssm_in]),
        out(t[model::Role::ssm_out]),
        taps(weights(*t[model::Role::ssm_taps].weight)),
        taps_bias(weights(*t[model::Role::ssm_taps].bias)),
        dt_bias(weights(*t[model::Role::ssm_dt].weight)),
        decay_rate(weights(*t[model::Role::ssm_a].weight)),
        skip(weights(*t[model::Role::ssm_d].weight)),
        norm(weights(*t[model::Role::ssm_norm].weight)) {}

  Floats run(const LayerRows& at, const Floats& input) const;
  /// As GatedDeltaNetWeights::step.
  void step(std::span<const float> record, const Floats& channels, std::span<float> state, std::span<float> mixed) const;
};

void Mamba2Weights::step(std::span<const float> record, const Floats& channels, std::span<float> state, std::span<float> mixed) const {
  const std::span<const float> all(channels), dts = record.subspan(mamba.channels(), mamba.heads);
  const std::size_t head_dim = mamba.head_dim, size = mamba.state_size, head_state = head_dim * size;
  for (std::size_t h = 0; h < mamba.heads; ++h) {
    const std::size_t group = h / (mamba.heads / mamba.groups);
    const double rate = decay_rate[h], dt = softplus(static_cast<double>(dts[h]) + static_cast<double>(dt_bias[h]));
    const MambaRow row{.x = all.subspan(h * head_dim, head_dim),
                       .b = all.subspan(mamba.width() + group * size, size),
                       .c = all.subspan(mamba.width() + (mamba.groups + group) * size, size),
                       .decay = std::exp(rate * dt),
                       .dt = dt,
                       .skip = skip[h]};
    mamba_step(state.subspan(h * head_state, head_state), row, mixed.subspan(h * head_dim, head_dim));
  }
}

Floats Mamba2Weights::run(const LayerRows& at, const Floats& input) const {
  observe(at, MatrixInput::attention, input);
  const Floats projected = in.apply(input, at.rows);
  const std::size_t width = mamba.width(), channels = mamba.channels(), record_width = channels + mamba.heads;
  RecurrentMemory& memory = at.sequence.recurrent[at.layer];
  Records records(memory, record_width);
  for (std::size_t r = 0; r < at.rows; ++r) {
    const std::span<const float> row = row_of(projected, r, width + record_width);
    std::ranges::copy(row.subspan(width), records.put(at.first_position + static_cast<std::uint32_t>(r)).begin());
  }
  Floats mixed(at.rows * width), unused(width);
  advance(at, memory, width * mamba.state_size, [&](std::uint32_t position, std::ptrdiff_t row) {
    step(records.at(position), convolve(taps, taps_bias, channels, records, position), memory.state,
         row < 0 ? std::span(unused) : row_of(mixed, static_cast<std::size_t>(row), width));
  });
  for (std::size_t r = 0; r < at.rows; ++r) {
    const std::span<float> outputs = row_of(mixed, r, width);
    for (std::size_t i = 0; i < width; ++i) {
      outputs[i] = static_cast<float>(outputs[i] * silu(static_cast<double>(projected[r * (width + record_width) + i])));
    }
    for (std::size_t first = 0; first < width; first += mamba.group_width()) {
      const std::span<float> group = outputs.subspan(first, mamba.group_width());
      rms_norm(group, std::span(norm).subspan(first, mamba.group_width()), at.config.norm_epsilon, group);
    }
  }
  observe(at, MatrixInput::attention_output, mixed);
  return out.apply(mixed, at.rows);
}

}  // namespace

Computation load_part(const model::ShortConv& conv, const model::Parameters& t) { return computation<ShortConvWeights>(conv, t); }
Computation load_part(const model::GatedDeltaNet& net, const model::Parameters& t) { return computation<GatedDeltaNetWeights>(net, t); }
Computation load_part(const model::Mamba2& mamba, const model::Parameters& t) { return computation<Mamba2Weights>(mamba, t); }

}  // namespace skipstone::ref
