// Bayesian optimisation of the expected speed-up over skip sets: the strategy of `tune`, and its regression by a Gaussian process with a
// Matern 5/2 kernel (Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, algorithm 2.1 and equation 4.17).
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "exec/layer_plan.h"
#include "speculation/search/strategy.h"

namespace skipstone::speculation::search {

/// Length scales of the four ways in which two sets differ, and the noise's share of the variance. A large length scale makes the kernel
/// insensitive to that difference.
struct KernelParams {
  double attention = 1, mlp = 1;  ///< how many sublayers of a kind one set skips and the other does not, as a share of the layers
  double cardinality = 1;         ///< how many more of a kind one skips, as a share of the layers
  double depth = 1;               ///< where in the depth: root mean square difference of the shares skipped up to each layer
  double noise = 1e-3;            ///< variance of the noise / variance of the function

  static constexpr std::size_t count = 5;
  double& at(std::size_t i) { return *std::array<double*, count>{&attention, &mlp, &cardinality, &depth, &noise}[i]; }
};

/// Matern 5/2 at distance `r` in units of the length scale.
double matern52(double r);

struct Prediction {
  double mean = 0, deviation = 0;
};

class GaussianProcess {
 public:
  explicit GaussianProcess(std::uint32_t layers);
  ~GaussianProcess();

  /// Fits all observations at once. The mean is that of the values, the function's variance the one that makes them likeliest.
  void fit(std::span<const exec::LayerPlan> sets, std::span<const double> values, const KernelParams& params);
  /// Chooses the parameters by coordinate descent on the likelihood, starting from those of the last fit, and fits.
  void fit(std::span<const exec::LayerPlan> sets, std::span<const double> values);

  /// Predicts the function without the noise; call after a fit.
  Prediction predict(const exec::LayerPlan& set) const;
  double log_likelihood() const;  ///< of the observations, up to a constant
  const KernelParams& params() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Expected improvement of a value over `best` (Jones, Schonlau and Welch, "Efficient Global Optimization of Expensive Black-Box
/// Functions", 1998, equation 15). Without deviation: the gain of the mean itself.
double expected_improvement(const Prediction& prediction, double best);

/// Bayesian optimisation: the sets of `start` first, then `random_starts` random ones, then always the one with the largest expected
/// improvement that is found among neighbours of the best, their crossings and random sets.
std::unique_ptr<Strategy> bayesian_search(std::uint32_t layers, std::vector<exec::LayerPlan> start, std::uint32_t random_starts,
                                          std::uint64_t seed);

}  // namespace skipstone::speculation::search
