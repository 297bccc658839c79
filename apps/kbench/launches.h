// What a pass of whole models launches, and which pipelines a start makes. Nothing runs and no memory is taken.
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

/// Of a pass of decoding.
struct PassLaunches {
  std::uint32_t rows = 0;
  std::size_t dispatches = 0, barriers = 0;
  std::vector<std::pair<std::string, std::size_t>> by_label = {};  ///< "attn_qkv" of all layers, in the order of a pass
};

/// A pipeline, and why it is made.
struct MadePipeline {
  std::string kernel;
  std::string constants;       ///< specialization constants in order, as "64,64,4,8"
  std::uint32_t subgroup = 0;  ///< lanes that are asked for; 0: any
  std::string when;            ///< "load", or what of a session needs it first: "drafts", "sampling", "trees"
  std::string pass;            ///< the first one that takes it, as in CompiledKernel; "move" for keys and values of an accepted branch
};

struct ModelLaunches {
  std::string model;
  std::uint32_t layers = 0;
  std::uint64_t weight_bytes = 0;  ///< that a pass reads
  std::vector<PassLaunches> passes = {};
  std::vector<MadePipeline> pipelines = {};  ///< each once

  std::size_t made(const std::string& when) const;  ///< pipelines
};

// docs/results/roofline.md: from one dispatch to the next, and the bandwidth of a GPU for whose owner launches matter.
inline constexpr double launch_seconds = 1.3e-6, bytes_per_second = 1e12;
/// What launches are of a pass that takes the time of its weights and launches alone.
double launch_share(const ModelLaunches& model, const PassLaunches& pass);

/// `model`: model::synthetic_model's notation; passes of 1 and 8 rows. Throws invalid_argument where there is no such model.
ModelLaunches launches(const std::string& model, const skipstone::kernels::Selector& select, skipstone::KvFormat kv_format);

/// Barriers that vk::Recorder puts between these dispatches.
std::size_t barriers_between(std::span<const skipstone::kernels::Dispatch> dispatches);

/// Three tab-separated tables with an empty line between two: models, passes, pipelines.
std::string table_of(const std::vector<ModelLaunches>& models);

}  // namespace kbench
