// What a driver's compiler makes of the pipelines of whole models. Nothing runs and no memory is taken, so a driver without its GPU will
// do.
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

/// A pipeline and what the driver says of it.
struct CompiledKernel {
  std::string kernel;
  std::string constants;       ///< specialization constants in order, as "64,64,4,8"
  std::uint32_t subgroup = 0;  ///< lanes that were asked for; 0: any
  std::string pass;            ///< the first that takes it: "rows 8", "tree 8", "logits 8", "draft", "prompt 64"
  Figures figures;
  double milliseconds = 0.0;  ///< to make it
  std::string failure;        ///< why the driver refused it; empty where it did not
};

/// Each pipeline of decoding, drafting, verification and prompts of `models` (model::synthetic_model's notation) once, in the order of
/// `models`; after a model's others those of decoding on matrix units, where device and build have them. Throws where a model is not known.
std::vector<CompiledKernel> compile(const std::shared_ptr<skipstone::vk::Device>& device, skipstone::kernels::Library& library,
                                    const std::vector<std::string>& models, skipstone::KvFormat kv_format,
                                    const std::function<void(const std::string&)>& progress);

/// Tab-separated, a line each under a line of names; "-" where a figure is absent.
std::string table_of(const std::vector<CompiledKernel>& kernels);

}  // namespace kbench
