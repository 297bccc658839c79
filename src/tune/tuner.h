// Measures which of the selector's candidates is fastest on a device.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/library.h"
#include "kernels/selector.h"
#include "tune/contests.h"
#include "vk/device.h"

namespace skipstone::tune {

struct Effort {
  double seconds = 5;        ///< at most about this long; contests not reached by then keep the built-in choice
  std::uint32_t rounds = 5;  ///< timings of each candidate that is not dropped
};

struct Timed {
  std::string name;
  double microseconds = 0;  ///< the best of its rounds, of one run
  bool dropped = false;     ///< was more than 1.25 times as slow as the best
};

struct Result {
  std::string operation, subject;
  std::uint32_t rows = 0;
  std::vector<Timed> candidates;  ///< the built-in choice first
  std::size_t chosen = 0;
};

struct Report {
  kernels::Choices choices;     ///< those that differ from the built-in ones
  std::vector<Result> results;  ///< of the contests that were run
  std::size_t left_out = 0;     ///< contests skipped for lack of time
  double seconds = 0;
};

/// Times every candidate on the model's own weights (`weights` resolves them), interleaved. Another candidate has to be 3 % faster than
/// the built-in choice to replace it. `progress` gets 0..1; throwing from it ends the tuning. Throws what running kernels throws.
Report tune(std::shared_ptr<vk::Device> device, kernels::Library& library, const kernels::Selector& select, const Workload& work,
            const kernels::Resolver& weights, const Effort& effort, const std::function<void(double)>& progress);

}  // namespace skipstone::tune
