#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/status.h"
#include "search/bayesian_search.h"

namespace skipstone::speculation::search {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using Bits = std::bitset<exec::LayerPlan::max_layers>;

/// Columns of points whose squared distances are the squares of the differences that KernelParams names, unscaled: by way.
struct Features {
  std::array<MatrixXd, 4> ways;  // attention, mlp, cardinality, depth
};

void append_kind(const Bits& bits, std::uint32_t layers, VectorXd& own, VectorXd& cardinality, VectorXd& depth, bool mlp) {
  const double share = 1.0 / layers, unit = std::sqrt(share);
  double skipped = 0;
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    if (bits[layer]) skipped += share;
    own[layer] = bits[layer] ? unit : 0.0;
    depth[(mlp ? layers : 0) + layer] = skipped * unit;
  }
  cardinality[mlp ? 1 : 0] = skipped;
}

std::array<VectorXd, 4> features_of(const exec::LayerPlan& set, std::uint32_t layers) {
  std::array<VectorXd, 4> f = {VectorXd(layers), VectorXd(layers), VectorXd(2), VectorXd(2 * layers)};
  append_kind(set.skip_attention, layers, f[0], f[2], f[3], false);
  append_kind(set.skip_mlp, layers, f[1], f[2], f[3], true);
  return f;
}

double scale_of(const KernelParams& params, std::size_t way) {
  const double length = KernelParams(params).at(way);
  return 1.0 / (length * length);
}

}  // namespace

double matern52(double r) {
  const double s = std::sqrt(5.0) * r;
  return (1.0 + s + s * s / 3.0) * std::exp(-s);
}

struct GaussianProcess::State {
  std::uint32_t layers = 0;
  KernelParams params;
  Features features;                  // a column for each observation
  std::array<MatrixXd, 4> distances;  // squared, between observations
  double mean = 0, variance = 0, log_likelihood = 0;
  VectorXd values, weights;
  Eigen::LLT<MatrixXd> factor;

  void observe(std::span<const exec::LayerPlan> sets, std::span<const double> given);
  void fit(const KernelParams& with);
};

void GaussianProcess::State::observe(std::span<const exec::LayerPlan> sets, std::span<const double> given) {
  if (sets.empty() || sets.size() != given.size()) fail(Code::internal, "{} values for {} skip sets", given.size(), sets.size());
  const auto n = static_cast<Eigen::Index>(sets.size());
  for (std::size_t way = 0; way < 4; ++way) features.ways[way].resize(features_of(sets[0], layers)[way].size(), n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const std::array<VectorXd, 4> f = features_of(sets[static_cast<std::size_t>(i)], layers);
    for (std::size_t way = 0; way < 4; ++way) features.ways[way].col(i) = f[way];
  }
  for (std::size_t way = 0; way < 4; ++way) {
    const MatrixXd& x = features.ways[way];
    const VectorXd norms = x.colwise().squaredNorm();
    distances[way] = (-2.0 * x.transpose() * x).colwise() + norms;
    distances[way].rowwise() += norms.transpose();
    distances[way] = distances[way].cwiseMax(0.0);
  }
  const Eigen::Map<const VectorXd> all(given.data(), n);
  mean = all.mean();
  values = all.array() - mean;
}

void GaussianProcess::State::fit(const KernelParams& with) {
  params = with;
  const Eigen::Index n = values.size();
  MatrixXd squared = MatrixXd::Zero(n, n);
  for (std::size_t way = 0; way < 4; ++way) squared += scale_of(params, way) * distances[way];
  MatrixXd covariance = squared.unaryExpr([](double d) { return matern52(std::sqrt(d)); });
  covariance.diagonal().array() += params.noise;
  factor.compute(covariance);
  if (factor.info() != Eigen::Success) fail(Code::internal, "the covariance of {} skip sets is not positive definite", n);
  weights = factor.solve(values);
  // The variance that maximises the likelihood has a closed form (Rasmussen and Williams, exercise 5.6.1's setting).
  variance = std::max(values.dot(weights) / static_cast<double>(n), 1e-300);
  const double log_determinant = 2.0 * factor.matrixLLT().diagonal().array().log().sum();
  log_likelihood = -0.5 * (static_cast<double>(n) * std::log(variance) + log_determinant);
}

GaussianProcess::GaussianProcess(std::uint32_t layers) : state_(std::make_unique<State>()) { state_->layers = layers; }
GaussianProcess::~GaussianProcess() = default;

void GaussianProcess::fit(std::span<const exec::LayerPlan> sets, std::span<const double> values, const KernelParams& params) {
  state_->observe(sets, values);
  state_->fit(params);
}

void GaussianProcess::fit(std::span<const exec::LayerPlan> sets, std::span<const double> values) {
  State& s = *state_;
  s.observe(sets, values);
  s.fit(s.params);
  KernelParams best = s.params;
  double likelihood = s.log_likelihood;
  constexpr std::array<double, KernelParams::count> low = {0.1, 0.1, 0.05, 0.02, 1e-5}, high = {20, 20, 20, 20, 0.3};
  for (double step : {4.0, 2.0, 1.4}) {
    for (std::size_t i = 0; i < KernelParams::count; ++i) {
      for (const double factor : {step, 1.0 / step}) {
        KernelParams tried = best;
        tried.at(i) = std::clamp(tried.at(i) * factor, low[i], high[i]);
        s.fit(tried);
        if (s.log_likelihood <= likelihood) continue;
        likelihood = s.log_likelihood;
        best = tried;
      }
    }
  }
  s.fit(best);
}

Prediction GaussianProcess::predict(const exec::LayerPlan& set) const {
  const State& s = *state_;
  const std::array<VectorXd, 4> f = features_of(set, s.layers);
  VectorXd squared = VectorXd::Zero(s.values.size());
  for (std::size_t way = 0; way < 4; ++way) {
    squared += scale_of(s.params, way) * (s.features.ways[way].colwise() - f[way]).colwise().squaredNorm().transpose();
  }
  const VectorXd covariance = squared.unaryExpr([](double d) { return matern52(std::sqrt(d)); });
  const VectorXd half = s.factor.matrixL().solve(covariance);
  return {s.mean + covariance.dot(s.weights), std::sqrt(s.variance * std::max(0.0, 1.0 - half.squaredNorm()))};
}

double GaussianProcess::log_likelihood() const { return state_->log_likelihood; }
const KernelParams& GaussianProcess::params() const { return state_->params; }

double expected_improvement(const Prediction& prediction, double best) {
  const double gain = prediction.mean - best;
  if (!(prediction.deviation > 0)) return std::max(0.0, gain);
  const double z = gain / prediction.deviation;
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi);
  const double below = 0.5 * std::erfc(-z / std::numbers::sqrt2);
  return std::max(0.0, gain * below + prediction.deviation * density);
}

}  // namespace skipstone::speculation::search
