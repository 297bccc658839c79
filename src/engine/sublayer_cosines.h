// The change of direction of the residual stream in each sublayer over entire prompts: the measure by which Draft on the Fly chooses its
// skip sets (Metel et al., 2024, arXiv 2410.01028, table 1), for MLPs as well.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/engine.h"

namespace skipstone::engine {

struct Spread {
  double least = 0, most = 0, mean = 0, median = 0;  ///< median of an even number of values: the mean of the middle two
};
/// All zero if there are no values. Values that are not finite are left out.
Spread spread_of(std::vector<double> values);

struct SublayerCosines {
  /// Seconds to read a prompt: without cosines, with those of attention (the cost of asd), with all.
  struct Reading {
    double plain = 0, attention = 0, all = 0;
  };
  std::uint64_t tokens = 0;                        ///< of the prompts that were read
  std::uint32_t left_out = 0;                      ///< prompts that are longer than the context
  std::vector<std::vector<float>> attention, mlp;  ///< [prompt][layer]: mean over the positions of cos(residual before, after), in [-1, 1]
  std::vector<Reading> reading;                    ///< [prompt]
};

/// Reads every prompt three times. `progress` is called before each one with "measuring cosines". Throws invalid_argument if a prompt is
/// empty or none fits the context.
SublayerCosines measure_cosines(Engine& engine, const std::vector<std::vector<text::Token>>& prompts, const Progress& progress);

}  // namespace skipstone::engine
