// What there is to choose on a device for a model: one contest for each (operation, format, row bucket) that has more than one candidate.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/operations.h"
#include "kernels/selector.h"

namespace skipstone::tune {

/// The model that is tuned for, by shape.
struct Workload {
  std::vector<kernels::Matrix> layer_matrices;  ///< of the first layers, in the order of a pass
  kernels::Matrix output;                       ///< the LM head: not used by prompt passes
  kernels::AttentionShape attention;            ///< `context` is the length of text that attention is timed at
};

struct Contest {
  std::string operation;           ///< "matvec", "matmul", "attention"
  std::string subject;             ///< "Q8_0", "3 x 64"
  std::uint32_t rows = 0;          ///< of the passes that are timed
  std::vector<std::string> names;  ///< of the candidates, the built-in choice first
  /// One run of candidate `i`.
  std::function<std::vector<kernels::Dispatch>(std::size_t)> run;
  /// Notes candidate `i` down, for every row bucket that the contest stands for.
  std::function<void(std::size_t, kernels::Choices&)> take;
};

/// The contests, those that decoding needs most first. `select` must outlive them.
std::vector<Contest> contests(const kernels::Selector& select, const Workload& work);

/// The buffers that their runs need beside weights, and how large. Bytes.
struct Buffer {
  kernels::Resource resource;
  std::uint64_t bytes = 0;
};
std::vector<Buffer> buffers(const Workload& work);

}  // namespace skipstone::tune
