// Compiler statistics of the pipelines of full models. Nothing runs and no memory is allocated, so a driver without its GPU is enough.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/kv_format.h"
#include "kbench/figures.h"
#include "kernels/library.h"
#include "vk/device.h"

namespace kbench {

/// A pipeline and the driver's statistics of it.
struct CompiledKernel {
  std::string kernel;
  std::string constants;       ///< specialization constants in order, as "64,64,4,8"
  std::uint32_t subgroup = 0;  ///< required subgroup size; 0: any
  std::string pass;            ///< the first pass that uses it: "rows 8", "tree 8", "logits 8", "draft", "prompt 64"
  Figures figures;
  double milliseconds = 0.0;  ///< creation time
  std::string failure;        ///< the driver's reason for rejecting it; empty if it did not
};

/// Each pipeline of decoding, drafting, verification and prompts of `models` (model::synthetic_model's notation) once, in the order of
/// `models`; the pipelines of decoding on matrix units come last in a model, if device and build have them. Throws for unknown models.
std::vector<CompiledKernel> compile(const std::shared_ptr<skipstone::vk::Device>& device, skipstone::kernels::Library& library,
                                    const std::vector<std::string>& models, skipstone::KvFormat kv_format,
                                    const std::function<void(const std::string&)>& progress);

/// A tab-separated table with a header line; "-" for an absent figure.
std::string table_of(const std::vector<CompiledKernel>& kernels);

}  // namespace kbench
