// Random weights made on the device: no file, no memory of the host.
#pragma once

#include <memory>

#include "kernels/library.h"
#include "kernels/operations.h"
#include "model/weight_layout.h"
#include "vk/memory.h"
#include "vk/recorder.h"

namespace skipstone::model {

/// Fills planes so that every weight is finite and a matrix keeps its input's size: weights have a standard deviation of about 1/sqrt(K),
/// norms are around 1, biases around 0. The same bits on devices that lay matrices out alike
/// (kernels::Matrix::interleave, parts): a stream of numbers is a plane's, not a matrix's.
class RandomWeights {
 public:
  RandomWeights(const std::shared_ptr<vk::Device>& device, kernels::Library& library, const kernels::Selector& select);

  /// Plane `plane` (as in kernels::Resource) of part `part` of a tensor. Waits until it is done.
  void fill(const TensorPlace& place, std::size_t part, std::uint32_t plane, const vk::Slice& target);

 private:
  std::shared_ptr<vk::Device> device_;
  kernels::Library& library_;
  const kernels::Selector& select_;
  vk::Queue queue_;
};

}  // namespace skipstone::model
