#include "ref/recurrent.h"

#include <cmath>
#include <cstddef>
#include <vector>

namespace skipstone::ref {

double softplus(double x) { return x > 0.0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double silu(double x) { return x * sigmoid(x); }

void causal_convolution(std::span<const float> taps, std::span<const float> bias, std::uint32_t position,
                        const std::function<std::span<const float>(std::uint32_t)>& row, std::span<float> out) {
  const auto kernel = static_cast<std::uint32_t>(taps.size() / out.size());
  std::vector<double> sums(bias.begin(), bias.end());
  sums.resize(out.size());
  for (std::uint32_t tap = 0; tap < kernel; ++tap) {
    const std::uint32_t back = kernel - 1 - tap;
    if (back > position) continue;
    const std::span<const float> inputs = row(position - back);
    for (std::size_t c = 0; c < out.size(); ++c) sums[c] += static_cast<double>(taps[c * kernel + tap]) * static_cast<double>(inputs[c]);
  }
  for (std::size_t c = 0; c < out.size(); ++c) out[c] = static_cast<float>(sums[c]);
}

void l2_normalise(std::span<float> x, double scale) {
  constexpr double epsilon = 1e-6;
  double sum = 0.0;
  for (const float number : x) sum += static_cast<double>(number) * static_cast<double>(number);
  const double factor = scale / std::sqrt(sum + epsilon);
  for (float& number : x) number = static_cast<float>(static_cast<double>(number) * factor);
}

void delta_step(std::span<float> state, const DeltaRow& row, std::span<float> out) {
  const std::size_t columns = row.value.size();
  std::vector<double> predicted(columns), result(columns);
  for (std::size_t i = 0; i < row.key.size(); ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      float& number = state[i * columns + j];
      number = static_cast<float>(row.decay * static_cast<double>(number));
      predicted[j] += static_cast<double>(row.key[i]) * static_cast<double>(number);
    }
  }
  for (std::size_t j = 0; j < columns; ++j) predicted[j] = row.beta * (static_cast<double>(row.value[j]) - predicted[j]);
  for (std::size_t i = 0; i < row.key.size(); ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      float& number = state[i * columns + j];
      number = static_cast<float>(static_cast<double>(number) + static_cast<double>(row.key[i]) * predicted[j]);
      result[j] += static_cast<double>(row.query[i]) * static_cast<double>(number);
    }
  }
  for (std::size_t j = 0; j < columns; ++j) out[j] = static_cast<float>(result[j]);
}

void mamba_step(std::span<float> state, const MambaRow& row, std::span<float> out) {
  const std::size_t columns = row.b.size();
  for (std::size_t i = 0; i < row.x.size(); ++i) {
    const auto x = static_cast<double>(row.x[i]);
    double sum = 0.0;
    for (std::size_t n = 0; n < columns; ++n) {
      float& number = state[i * columns + n];
      number = static_cast<float>(row.decay * static_cast<double>(number) + row.dt * x * static_cast<double>(row.b[n]));
      sum += static_cast<double>(number) * static_cast<double>(row.c[n]);
    }
    out[i] = static_cast<float>(sum + row.skip * x);
  }
}

}  // namespace skipstone::ref
