// The dispatches of a full model's passes, and the pipelines that a start creates. Nothing runs and no memory is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/kv_format.h"
#include "kernels/dispatch.h"
#include "kernels/selector.h"

namespace kbench {

/// Launches of a decoding pass.
struct PassLaunches {
  std::uint32_t rows = 0;
  std::size_t dispatches = 0, barriers = 0;
  std::vector<std::pair<std::string, std::size_t>> by_label = {};  ///< "attn_qkv" of all layers, in the order of a pass
};

/// A pipeline and the reason for its creation.
struct MadePipeline {
  std::string kernel;
  std::string constants;       ///< specialization constants in order, as "64,64,4,8"
  std::uint32_t subgroup = 0;  ///< required subgroup size; 0: any
  std::string when;            ///< "load", or the session feature that needs it first: "drafts", "sampling", "trees"
  std::string pass;            ///< the first pass that uses it, as in CompiledKernel; "move" for keys and values of an accepted branch
};

struct ModelLaunches {
  std::string model;
  std::uint32_t layers = 0;
  std::uint64_t weight_bytes = 0;  ///< that a pass reads
  std::vector<PassLaunches> passes = {};
  std::vector<MadePipeline> pipelines = {};  ///< each once

  std::size_t made(const std::string& when) const;  ///< pipelines
};

// docs/results/roofline.md: time from one dispatch to the next, and the bandwidth of a GPU on which launches matter.
inline constexpr double launch_seconds = 1.3e-6, bytes_per_second = 1e12;
/// Share of launches in a pass whose time is that of reading its weights plus launches.
double launch_share(const ModelLaunches& model, const PassLaunches& pass);

/// `model`: model::synthetic_model's notation; passes of 1 and 8 rows. Throws invalid_argument if there is no such model.
ModelLaunches launches(const std::string& model, const skipstone::kernels::Selector& select, const skipstone::KvFormats& kv_format);

/// Number of barriers that vk::Recorder puts between these dispatches.
std::size_t barriers_between(std::span<const skipstone::kernels::Dispatch> dispatches);

/// Three tab-separated tables with an empty line between two: models, passes, pipelines.
std::string table_of(const std::vector<ModelLaunches>& models);

}  // namespace kbench
