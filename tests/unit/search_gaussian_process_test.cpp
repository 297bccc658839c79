// Gaussian process regression against the textbook's formulas, written out without the library; expected improvement against integration.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "search/bayesian_search.h"
#include "speculation/search/moves.h"

namespace skipstone::speculation::search {
namespace {

using exec::LayerPlan;
using Matrix = std::vector<std::vector<double>>;

constexpr std::uint32_t layers = 6;

/// By definition, from the sets themselves.
double covariance(const LayerPlan& a, const LayerPlan& b, const KernelParams& p) {
  double squared = 0;
  for (const bool mlp : {false, true}) {
    const auto& x = mlp ? a.skip_mlp : a.skip_attention;
    const auto& y = mlp ? b.skip_mlp : b.skip_attention;
    double different = 0, more = 0, depth = 0;
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
      different += x[layer] != y[layer] ? 1.0 / layers : 0.0;
      more += (static_cast<double>(x[layer]) - static_cast<double>(y[layer])) / layers;
      depth += more * more / layers;
    }
    squared += different / std::pow(mlp ? p.mlp : p.attention, 2) + more * more / std::pow(p.cardinality, 2) + depth / std::pow(p.depth, 2);
  }
  const double r = std::sqrt(squared);
  return (1 + std::sqrt(5.0) * r + 5 * r * r / 3) * std::exp(-std::sqrt(5.0) * r);
}

/// Gauss and Jordan, for a few unknowns; also the determinant's logarithm.
Matrix inverse(Matrix m, double& log_determinant) {
  const std::size_t n = m.size();
  Matrix result(n, std::vector<double>(n, 0.0));
  for (std::size_t i = 0; i < n; ++i) result[i][i] = 1;
  log_determinant = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double pivot = m[i][i];
    log_determinant += std::log(pivot);
    for (std::size_t j = 0; j < n; ++j) m[i][j] /= pivot, result[i][j] /= pivot;
    for (std::size_t k = 0; k < n; ++k) {
      const double factor = m[k][i];
      if (k == i) continue;
      for (std::size_t j = 0; j < n; ++j) m[k][j] -= factor * m[i][j], result[k][j] -= factor * result[i][j];
    }
  }
  return result;
}

TEST(Matern52, KnownValues) {
  EXPECT_DOUBLE_EQ(matern52(0), 1.0);
  EXPECT_NEAR(matern52(1), 0.52399411, 1e-8);
  EXPECT_NEAR(matern52(2), 0.13866022, 1e-8);
}

TEST(GaussianProcess, IsTheTextbooksRegression) {
  Random random(7);
  std::vector<LayerPlan> sets;
  std::vector<double> values;
  for (int i = 0; i < 9; ++i) {
    sets.push_back(random_set(layers, random));
    values.push_back(1 + random.unit());
  }
  const KernelParams params{0.7, 0.9, 0.5, 0.3, 0.02};
  GaussianProcess process(layers);
  process.fit(sets, values, params);

  const std::size_t n = sets.size();
  double mean = 0;
  for (const double value : values) mean += value / static_cast<double>(n);
  Matrix k(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) k[i][j] = covariance(sets[i], sets[j], params) + (i == j ? params.noise : 0.0);
  }
  double log_determinant = 0;
  const Matrix inverted = inverse(k, log_determinant);
  double variance = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) variance += (values[i] - mean) * inverted[i][j] * (values[j] - mean) / static_cast<double>(n);
  }
  EXPECT_NEAR(process.log_likelihood(), -0.5 * (static_cast<double>(n) * std::log(variance) + log_determinant), 1e-9);
  for (int i = 0; i < 20; ++i) {
    const LayerPlan at = i < 9 ? sets[static_cast<std::size_t>(i)] : random_set(layers, random);
    double expected = mean, explained = 0;
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) {
        expected += covariance(at, sets[a], params) * inverted[a][b] * (values[b] - mean);
        explained += covariance(at, sets[a], params) * inverted[a][b] * covariance(at, sets[b], params);
      }
    }
    const Prediction prediction = process.predict(at);
    EXPECT_NEAR(prediction.mean, expected, 1e-9);
    EXPECT_NEAR(prediction.deviation, std::sqrt(variance * (1 - explained)), 1e-7);
  }
}

TEST(GaussianProcess, ChoosesParametersThatAreLikelier) {
  Random random(3);
  std::vector<LayerPlan> sets;
  std::vector<double> values;
  for (int i = 0; i < 40; ++i) {
    sets.push_back(random_set(layers, random));
    values.push_back(static_cast<double>(sets.back().skip_mlp.count()));  // MLP sublayers alone matter
  }
  GaussianProcess fixed(layers), chosen(layers);
  fixed.fit(sets, values, {});
  chosen.fit(sets, values);
  EXPECT_GT(chosen.log_likelihood(), fixed.log_likelihood() + 1);
  LayerPlan at = LayerPlan::full(layers);
  at.skip_mlp.set(1).set(4).set(5);
  EXPECT_NEAR(chosen.predict(at).mean, 3.0, 0.25);
}

TEST(GaussianProcess, OneObservationAndEqualOnes) {
  GaussianProcess process(layers);
  const LayerPlan set = LayerPlan::parse("attn:2", layers);
  const std::vector<LayerPlan> one = {set}, two = {set, LayerPlan::parse("mlp:2", layers)};
  process.fit(one, std::vector<double>{1.5});
  EXPECT_NEAR(process.predict(set).mean, 1.5, 1e-9);
  process.fit(two, std::vector<double>{1.5, 1.5});
  EXPECT_NEAR(process.predict(set).mean, 1.5, 1e-9);
}

TEST(ExpectedImprovement, IsTheIntegral) {
  for (const double mean : {-1.0, 0.2, 1.5}) {
    for (const double deviation : {0.1, 1.0, 3.0}) {
      const double best = 0.4, step = deviation / 2000;
      double integral = 0;
      for (double z = -10 * deviation; z < 10 * deviation; z += step) {
        const double density = std::exp(-0.5 * z * z / deviation / deviation) / deviation / std::sqrt(2 * std::numbers::pi);
        integral += std::max(0.0, mean + z - best) * density * step;
      }
      EXPECT_NEAR(expected_improvement({mean, deviation}, best), integral, 1e-4 * deviation);
    }
  }
  EXPECT_DOUBLE_EQ(expected_improvement({2, 0}, 1.5), 0.5);
  EXPECT_DOUBLE_EQ(expected_improvement({1, 0}, 1.5), 0.0);
  EXPECT_GE(expected_improvement({-100, 1}, 0), 0.0);
}

}  // namespace
}  // namespace skipstone::speculation::search
