// A model's tensors in memory that the device reads, repacked to the kernels' layout.
#pragma once

#include <functional>
#include <memory>

#include "kernels/dispatch.h"
#include "model/weight_layout.h"
#include "vk/memory.h"

namespace skipstone::model {

class RandomWeights;

class Weights {
 public:
  /// Repacks and uploads every tensor, or fills all of them from `random` where that is given. `progress` gets 0..1; throwing from it stops
  /// the load.
  Weights(const std::shared_ptr<vk::Device>& device, const WeightLayout& layout, const std::function<void(double)>& progress,
          RandomWeights* random = nullptr);

  /// The buffer of a Resource of kind `weight`; empty if there is none.
  vk::Slice slice(const kernels::Resource& resource) const;

 private:
  struct Buffers {
    vk::Slice quants, scales;
  };
  vk::Arena device_arena_, host_arena_;
  std::vector<std::vector<Buffers>> tensors_;  ///< by ordinal, then part
};

}  // namespace skipstone::model
