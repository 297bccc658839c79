// How much each sublayer turns the residual stream, over whole prompts: what Draft on the Fly chooses its skip sets by (Metel et al., 2024,
// arXiv 2410.01028, table 1), of MLPs as well.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/engine.h"

namespace skipstone::engine {

struct Spread {
  double least = 0, most = 0, mean = 0, median = 0;  ///< median of an even number of values: the mean of the middle two
};
/// All zero where there are no values. Those that are no numbers are left out.
Spread spread_of(std::vector<double> values);

struct SublayerCosines {
  /// Seconds to read a prompt: without cosines, with those of attention (what asd pays), with all.
  struct Reading {
    double plain = 0, attention = 0, all = 0;
  };
  std::uint64_t tokens = 0;                        ///< of the prompts that were read
  std::uint32_t left_out = 0;                      ///< prompts that are longer than the context
  std::vector<std::vector<float>> attention, mlp;  ///< [prompt][layer]: mean over the positions of cos(residual before, after), in [-1, 1]
  std::vector<Reading> reading;                    ///< [prompt]
};

/// Reads every prompt three times. `progress` is called before each one with "measuring cosines". Throws invalid_argument where a prompt is
/// empty and where none fits the context.
SublayerCosines measure_cosines(Engine& engine, const std::vector<std::vector<text::Token>>& prompts, const Progress& progress);

}  // namespace skipstone::engine
