// The speed of a synthetic model on a device: prompts, decoding, passes over rows, and drafts with a given acceptance probability.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/record.h"
#include "skipstone/skipstone.hpp"

namespace cli::report {

inline constexpr std::uint32_t most_context = 1024;

struct ShapeOptions {
  std::string model;
  bool cpu = false;     ///< shorter prompts
  double seconds = 60;  ///< for all of it, after loading
  std::uint32_t repetitions = 5;
  std::function<void(const std::string& stage, double done)> say;
  std::function<bool()> interrupted;
};

/// Nullopt if the device is too slow for it, and `left_out` then says so. Throws skipstone::error (cancelled) once
/// options.interrupted() is true.
std::optional<Shape> measure_shape(const skipstone::Engine& engine, const ShapeOptions& options, std::vector<LeftOut>& left_out);

}  // namespace cli::report
