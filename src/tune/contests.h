// The choices for a model on a device: one contest for each (operation, format, row bucket) that has more than one candidate.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/operations.h"
#include "kernels/selector.h"

namespace skipstone::tune {

/// The shape of the model to tune for.
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
  /// Records candidate `i` for every row bucket that the contest covers.
  std::function<void(std::size_t, kernels::Choices&)> take;
};

/// The contests, most important for decoding first. `select` must outlive them.
std::vector<Contest> contests(const kernels::Selector& select, const Workload& work);

/// Buffers that the runs need besides weights, and their sizes in bytes.
struct Buffer {
  kernels::Resource resource;
  std::uint64_t bytes = 0;
};
std::vector<Buffer> buffers(const Workload& work);

}  // namespace skipstone::tune
